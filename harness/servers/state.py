"""Check that nothing of one request reaches another.

Texts are compared with those of the same requests alone. If no seed repeats a text, they are
greedy. Batches change the last bits of logits (docs/background/sequences.md), and so now and then a
token: `at once` counts the texts that stay. The text of another client is an error.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.http import ServerFailure
from sampler_parity.harness.servers.observation import (
    Observation,
    ServerTest,
    failed,
    honoured_if,
    observe,
)
from sampler_parity.harness.servers.probe import LENGTH, PROMPTS

CLIENTS, STREAMS = 32, 4  # no more streams than any server listens for
_OTHER = "def first(value):\n    return value\n\ndef second(value):\n    return"


def check_state(client: Client) -> Iterator[ServerResult]:
    yield from observe("state", STATE, client)


def _seeded(client: Client, **changed: Any) -> dict[str, Any]:
    """Return a request that states little: the rest must be the default."""
    return {client.dialect.length: LENGTH, "temperature": 0.9, "seed": 11, **changed}


def _repeatable(client: Client) -> dict[str, Any]:
    """Return a request whose texts can be compared: drawn where a seed repeats, else greedy."""
    drawn = _seeded(client)
    texts = {client.complete(PROMPTS[0], drawn).text for _ in range(2)}
    return drawn if len(texts) == 1 else {**drawn, "temperature": 0.0}


def _repeats(client: Client) -> Observation:
    first, again = (client.complete(PROMPTS[0], _seeded(client)) for _ in range(2))
    wrong = f"another text: {again.got}, {first.got}"
    return honoured_if(first.text == again.text, "twice the same text", wrong, again)


def _after_another(client: Client) -> Observation:
    """Ask before and after requests that state all that this one does not."""
    sent = _repeatable(client)
    alone = client.complete(PROMPTS[0], sent)
    rows = [row for row in client.dialect.parameters if row.effect in ("spreads", "forces")]
    loud = {row.name: row.effective for row in rows if row.documented}
    client.complete(PROMPTS[0], {**sent, **loud, "seed": 5})
    client.complete(_OTHER, {**sent, **loud, "seed": 6})
    return _as_alone(alone, client.complete(PROMPTS[0], sent))


def _after_one_that_left(client: Client) -> Observation:
    sent = _repeatable(client)
    alone = client.complete(PROMPTS[0], sent)
    client.streamed(_OTHER, {**sent, client.dialect.length: 200}, leave_after=2)
    return _as_alone(alone, client.complete(PROMPTS[0], sent))


def _as_alone(alone: Answer, after: Answer) -> Observation:
    wrong = f"another text than alone: {after.got}, {alone.got}"
    return honoured_if(alone.text == after.text, "the text that it has alone", wrong, after)


def _streamed(client: Client) -> Observation:
    sent = _repeatable(client)
    whole, parts = client.complete(PROMPTS[0], sent), client.streamed(PROMPTS[0], sent)
    return honoured_if(
        whole.text == parts.text and whole.tokens in (parts.tokens, None),
        f"in {len(parts.times)} parts the same text",
        f"another text than in one: {parts.got}, {whole.got}",
        parts,
    )


def _tried(client: Client, prompt: str, sent: dict[str, Any]) -> Answer | ServerFailure:
    try:
        return client.complete(prompt, sent)
    except ServerFailure as failure:
        return failure


def _several(client: Client, clients: int) -> tuple[list[str], list[dict[str, Any]], list[Answer]]:
    """Return a prompt and a request for each client, and the answers that they get alone."""
    sent = _repeatable(client)
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(clients)]
    requests = [{**sent, "seed": 100 + i} for i in range(clients)]
    return prompts, requests, [*map(client.complete, prompts, requests)]


def _answered(client: Client) -> Observation:
    """Send a short request each: a server that listens for fewer than come may reset the rest."""
    sent = _seeded(client, **{client.dialect.length: 1})
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(lambda _: _tried(client, PROMPTS[0], sent), range(CLIENTS)))
    failures = {i: one for i, one in enumerate(tried) if isinstance(one, ServerFailure)}
    evidence = f"{CLIENTS - len(failures)}/{CLIENTS} answered"
    for i, first in failures.items():
        line = f"{evidence}; client {i}: {first.line}"
        return Observation("error", line, failed(first).answer)
    return Observation("honoured", evidence)


def _at_once(client: Client) -> Observation:
    """Compare those that get an answer. Raises ServerFailure if none does."""
    prompts, requests, alone = _several(client, CLIENTS)
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(partial(_tried, client), prompts, requests))
    together = {i: one for i, one in enumerate(tried) if isinstance(one, Answer)}
    if not together:
        raise next(one for one in tried if isinstance(one, ServerFailure))
    apart = [i for i, answer in together.items() if alone[i].text != answer.text]
    evidence = f"{len(together) - len(apart)}/{len(together)} texts as alone"
    figures = {"equal": float(len(together) - len(apart))}
    if not apart:
        return Observation("honoured", evidence, next(iter(together.values())), figures)
    texts = {answer.text: i for i, answer in enumerate(alone)}
    for i in apart:
        if (owner := texts.get(together[i].text)) is not None:
            line = f"{evidence}; client {i} got the text of client {owner}"
            return Observation("error", line, together[i], figures)
    first = apart[0]
    line = f"{evidence}; client {first}: {together[first].got}, alone {alone[first].got}"
    return Observation("other meaning", line, together[first], figures)


def _streams_at_once(client: Client) -> Observation:
    """Require whole texts: one that is only a beginning of its text was cut."""
    prompts, requests, answers = _several(client, STREAMS)
    alone = [answer.text for answer in answers]
    with ThreadPoolExecutor(STREAMS) as pool:
        streams = list(pool.map(client.streamed, prompts, requests))
    cut = [
        i
        for i, (stream, whole) in enumerate(zip(streams, alone, strict=True))
        if stream.text != whole and whole.startswith(stream.text)
    ]
    first = cut[0] if cut else 0
    wrong = f"{len(cut)}/{STREAMS} are cut: {streams[first].got}, alone {json.dumps(alone[first])}"
    return honoured_if(not cut, f"{STREAMS}/{STREAMS} whole", wrong, streams[first])


STATE: dict[str, ServerTest] = {
    "a seed repeats": _repeats,
    "after another request": _after_another,
    "streamed": _streamed,
    f"{STREAMS} streams at once": _streams_at_once,
    "after a client that left": _after_one_that_left,
    f"{CLIENTS} answered": _answered,
    f"{CLIENTS} at once": _at_once,
}
