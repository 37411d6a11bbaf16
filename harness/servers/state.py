"""What of one request reaches another: nothing must.

Texts are compared with those of the same requests alone. Where no seed repeats a text, they are
greedy. Batches change the last bits of logits (docs/sequences.md), and so now and then a token:
`at once` counts the texts that stay. The text of another client is an error.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.http import Failure
from sampler_parity.harness.servers.observation import Fact, Told, right_if, told
from sampler_parity.harness.servers.parameters import LENGTH, PROMPTS

CLIENTS, STREAMS = 32, 4  # no more streams than any server listens for
_OTHER = "def first(value):\n    return value\n\ndef second(value):\n    return"


def check_state(client: Client) -> Iterator[ServerResult]:
    yield from told("state", STATE, client)


def _drawn(client: Client, seed: int, **changed: Any) -> dict[str, Any]:
    """A seeded request that says little: what it does not say, must be the default."""
    return {client.dialect.length: LENGTH, "temperature": 0.9, "seed": seed, **changed}


def _repeats(client: Client) -> Told:
    asked = _drawn(client, 11)
    first, again = (client.complete(PROMPTS[0], asked) for _ in range(2))
    same = first.text == again.text
    return right_if(same, "twice the same text", f"another text: {again.got}, {first.got}", again)


def _temperature(client: Client) -> dict[str, Any]:
    """Drawn where a seed repeats, else greedy: so that two texts can be compared."""
    drawn = _drawn(client, 11)
    texts = {client.complete(PROMPTS[0], drawn).text for _ in range(2)}
    return drawn if len(texts) == 1 else {**drawn, "temperature": 0.0}


def _after_another(client: Client) -> Told:
    """The other one says all that this one does not."""
    asked = _temperature(client)
    alone = client.complete(PROMPTS[0], asked)
    rows = [row for row in client.dialect.parameters if row.effect in ("spreads", "forces")]
    loud = {row.name: row.effective for row in rows if row.documented}
    client.complete(PROMPTS[0], {**asked, **loud, "seed": 5})
    client.complete(_OTHER, {**asked, **loud, "seed": 6})
    after = client.complete(PROMPTS[0], asked)
    return right_if(
        alone.text == after.text,
        "the text that it has alone",
        f"another text than alone: {after.got}, {alone.got}",
        after,
    )


def _streamed(client: Client) -> Told:
    asked = _temperature(client)
    whole, parts = client.complete(PROMPTS[0], asked), client.streamed(PROMPTS[0], asked)
    return right_if(
        whole.text == parts.text and whole.tokens in (parts.tokens, None),
        f"in {len(parts.times)} parts the same text",
        f"another text than in one: {parts.got}, {whole.got}",
        parts,
    )


def _after_one_that_left(client: Client) -> Told:
    asked = _temperature(client)
    alone = client.complete(PROMPTS[0], asked)
    client.streamed(_OTHER, {**asked, client.dialect.length: 200}, leave_after=2)
    after = client.complete(PROMPTS[0], asked)
    return right_if(
        alone.text == after.text,
        "the text that it has alone",
        f"another text than alone: {after.got}, {alone.got}",
        after,
    )


def _tried(client: Client, prompt: str, asked: dict[str, Any]) -> Answer | Failure:
    try:
        return client.complete(prompt, asked)
    except Failure as failure:
        return failure


def _answered(client: Client) -> Told:
    """A short request each: a server that listens for fewer than come may reset the rest."""
    asked = _drawn(client, 11, **{client.dialect.length: 1})
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(lambda _: _tried(client, PROMPTS[0], asked), range(CLIENTS)))
    failed = [(i, one) for i, one in enumerate(tried) if isinstance(one, Failure)]
    said = f"{CLIENTS - len(failed)}/{CLIENTS} answered"
    if failed:
        i, first = failed[0]
        shown = Answer(first.sent, refusal=first.line)
        return Told("error", f"{said}; client {i}: {first.line}", shown)
    return Told("honoured", said)


def _at_once(client: Client) -> Told:
    """Of those that get an answer; Failure where none does."""
    asked = _temperature(client)
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(CLIENTS)]
    several = [{**asked, "seed": 100 + i} for i in range(CLIENTS)]
    alone = [client.complete(*pair) for pair in zip(prompts, several, strict=True)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(partial(_tried, client), prompts, several))
    together = {i: one for i, one in enumerate(tried) if isinstance(one, Answer)}
    if not together:
        raise next(one for one in tried if isinstance(one, Failure))
    apart = [i for i, answer in together.items() if alone[i].text != answer.text]
    said = f"{len(together) - len(apart)}/{len(together)} texts as alone"
    figures = {"equal": float(len(together) - len(apart))}
    if not apart:
        return Told("honoured", said, next(iter(together.values())), figures)
    texts = {answer.text: i for i, answer in enumerate(alone)}
    for i in apart:
        if (owner := texts.get(together[i].text)) is not None:
            line = f"{said}; client {i} got the text of client {owner}"
            return Told("error", line, together[i], figures)
    first = apart[0]
    line = f"{said}; client {first}: {together[first].got}, alone {alone[first].got}"
    return Told("other meaning", line, together[first], figures)


def _streams_at_once(client: Client) -> Told:
    """Whole, each: one that is a beginning of its text alone was cut."""
    asked = _temperature(client)
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(STREAMS)]
    several = [{**asked, "seed": 100 + i} for i in range(STREAMS)]
    alone = [client.complete(*pair).text for pair in zip(prompts, several, strict=True)]
    with ThreadPoolExecutor(STREAMS) as pool:
        streams = list(pool.map(client.streamed, prompts, several))
    cut = [
        i
        for i, (stream, whole) in enumerate(zip(streams, alone, strict=True))
        if stream.text != whole and whole.startswith(stream.text)
    ]
    first = cut[0] if cut else 0
    wrong = f"{len(cut)}/{STREAMS} are cut: {streams[first].got}, alone {json.dumps(alone[first])}"
    return right_if(not cut, f"{STREAMS}/{STREAMS} whole", wrong, streams[first])


STATE: dict[str, Fact] = {
    "a seed repeats": _repeats,
    "after another request": _after_another,
    "streamed": _streamed,
    f"{STREAMS} streams at once": _streams_at_once,
    "after a client that left": _after_one_that_left,
    f"{CLIENTS} answered": _answered,
    f"{CLIENTS} at once": _at_once,
}
