"""Check that nothing of one request reaches another.

Texts are compared with those of the same requests alone. They are drawn with a fixed seed, and
greedy only in a dialect without one: a seed that does not repeat is a failure, never a reason to
compare other texts.

Batches change the last bits of logits (docs/background/sequences.md), and so now and then a drawn
token. `at once` judges the texts of a forced token, which no such bit changes. Other texts may
change. It fails if most texts do, or if one is another client's.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.dialects import TOKEN
from sampler_parity.harness.servers.http import ServerFailure
from sampler_parity.harness.servers.observation import (
    Observation,
    ServerTest,
    failed,
    honoured_if,
    observe,
)
from sampler_parity.harness.servers.probe import LENGTH, PROMPTS, Probe

CLIENTS, STREAMS = 32, 4  # no more streams than any server listens for
PLAIN, STREAMED, LEFT, REFUSED = "a plain request", "a stream", "a client that left", "a refusal"
LOUD, GRAMMAR = "another request", "a grammar"
KINDS = (PLAIN, STREAMED, LEFT, REFUSED, LOUD, GRAMMAR)
# Parameters of clients at once: of client i this value and i times the other, where documented.
_FORCED = 90.0  # a bias that OpenAI allows
_OWN = {
    "top_k": (20, 1),
    "top_p": (0.8, 0.005),
    "repeat_penalty": (1.0, 0.01),
    "repetition_penalty": (1.01, 0.01),
    "frequency_penalty": (0.0, 0.02),
}


def check_state(client: Client) -> Iterator[ServerResult]:
    yield from observe("state", state_tests(), client)


def state_tests() -> dict[str, ServerTest]:
    """Return the tests. Tests of pairs of requests share one walk."""
    walked: dict[str, Observation] = {}

    def after(kind: str, client: Client) -> Observation:
        if not walked:
            walked.update(_walk(client))
        return walked.get(kind) or Observation("skipped", "the dialect has no grammar")

    return {
        "a seed repeats": _repeats,
        "one connection": _kept,
        **{f"after {kind}": partial(after, kind) for kind in KINDS},
        f"{STREAMS} streams at once": _streams_at_once,
        f"{CLIENTS} answered": _answered,
        f"{CLIENTS} at once": _at_once,
    }


def _names(client: Client) -> set[str]:
    return {row.name for row in client.dialect.parameters if row.documented}


def _seeded(client: Client, **changed: Any) -> dict[str, Any]:
    """Return a request that states little: the rest must be the default. It is greedy where the
    dialect has no seed."""
    drawn = {"temperature": 0.9, "seed": 11} if "seed" in _names(client) else {"temperature": 0.0}
    return {client.dialect.length: LENGTH, **drawn, **changed}


def _repeats(client: Client) -> Observation:
    if "seed" not in _names(client):
        return Observation("skipped", "the dialect has no seed")
    first, again = (client.complete(PROMPTS[0], _seeded(client)) for _ in range(2))
    wrong = f"another text: {again.got}, {first.got}"
    return honoured_if(first.text == again.text, "twice the same text", wrong, again)


def _kept(client: Client) -> Observation:
    """Send requests on one connection, and compare them with those on connections of their own."""
    other = _seeded(client, seed=5) | _loud(client)
    wanted = [client.complete(PROMPTS[0], sent) for sent in (other, _seeded(client))]
    several = client.in_turn(PROMPTS[0], [other, _seeded(client), _seeded(client)])
    for want, got in zip((*wanted, wanted[-1]), several, strict=False):
        if (seen := _as_alone(want, got, f"of {len(several)}: ")).verdict != "honoured":
            return seen
    return Observation("honoured", f"{len(several)} requests on one, each as alone", several[-1])


def _loud(client: Client) -> dict[str, Any]:
    """Return all effects on a greedy text that PLAIN does not state."""
    rows = [row for row in client.dialect.parameters if row.documented]
    return {row.name: row.effective for row in rows if row.effect in ("spreads", "forces")}


def _walk(client: Client) -> dict[str, Observation]:
    """Send every kind of request after every kind, and compare it with the first of its kind.
    Return an observation for each kind that came before. LOUD states all that PLAIN does not."""
    rows = [row for row in client.dialect.parameters if row.documented]
    shapes = [row for row in rows if row.effect == "shape"]
    loud = _loud(client)
    sent = {kind: _seeded(client) for kind in (PLAIN, STREAMED)}
    sent[LEFT] = _seeded(client, **loud, **{"seed": 6, client.dialect.length: 200})
    sent[REFUSED] = _seeded(client, **loud, seed=5, temperature="a word")
    sent[LOUD] = _seeded(client, **loud, seed=5)
    if shapes:
        sent[GRAMMAR] = _seeded(client, **shapes[0].at(shapes[0].effective))
    alone: dict[str, Answer] = {}
    wrong: dict[str, Observation] = {}
    before = PLAIN
    for kind in _circuit([*sent]):
        ask = partial(client.streamed, leave_after=2 if kind == LEFT else None)
        streams = kind in (STREAMED, LEFT)
        got = _tried(ask if streams else client.complete, PROMPTS[0], sent[kind])
        if kind != REFUSED and (seen := _unlike(kind, got, alone)):
            wrong.setdefault(before, seen)
        before = kind
    right = Observation("honoured", f"{len(sent)} kinds of requests, each as alone")
    return {kind: wrong.get(kind, right) for kind in sent}


def _circuit(kinds: list[str]) -> Iterator[str]:
    """Return kinds so that each follows each once, itself included: a de Bruijn sequence."""
    for i, kind in enumerate(kinds):
        yield kind
        for other in kinds[i + 1 :]:
            yield from (kind, other)
    yield kinds[0]


def _unlike(kind: str, got: Answer | ServerFailure, alone: dict[str, Answer]) -> Observation | None:
    """Compare an answer with the first of its kind. A stream has the text of a plain request; what
    a client read before it left is not compared."""
    if isinstance(got, ServerFailure):
        return failed(got)
    first = alone.setdefault(PLAIN if kind == STREAMED else kind, got)
    seen = _as_alone(got if kind == LEFT else first, got, f"{kind}: " if kind != PLAIN else "")
    return seen if seen.verdict != "honoured" else None


def _as_alone(alone: Answer, after: Answer, what: str = "") -> Observation:
    wrong = f"{what}another text than alone: {after.got}, {alone.got}"
    return honoured_if(alone.same(after), "the text that it has alone", wrong, after)


def _tried(
    ask: Callable[[str, dict[str, Any]], Answer], prompt: str, sent: dict[str, Any]
) -> Answer | ServerFailure:
    try:
        return ask(prompt, sent)
    except ServerFailure as failure:
        return failure


def _own(client: Client, i: int) -> tuple[str, dict[str, Any]]:
    """Return the prompt and the parameters of client i. Every second one forces a token. Those of
    the next such client differ in one thing alone, in turn: a server that takes them for equal is
    seen."""
    own = {name: row for name, row in _OWN.items() if name in _names(client)}
    turns = 2 * (len(own) + 4)

    def step(place: int) -> int:
        return (i + 2 * place) // turns

    places = enumerate(own.items(), 4)
    values = {name: low + by * turns * step(place) for place, (name, (low, by)) in places}
    sent = _seeded(client, **values, seed=100 + step(0))
    sent[client.dialect.length] = LENGTH // 2 + step(1)
    if sent["temperature"]:
        sent["temperature"] = 0.9 + 0.3 * step(2)
    if i % 2 == 0:
        sent |= Probe(client).bias({TOKEN - i: _FORCED})
    elif client.dialect.text == "llama-server":  # names the tokens to compare with
        sent |= client.dialect.probabilities
    return PROMPTS[step(3) % len(PROMPTS)], sent


def _answered(client: Client) -> Observation:
    """Send a short request each: a server that listens for fewer than come may reset the rest."""
    sent = _seeded(client, **{client.dialect.length: 1})
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(lambda _: _tried(client.complete, PROMPTS[0], sent), range(CLIENTS)))
    failures = {i: one for i, one in enumerate(tried) if isinstance(one, ServerFailure)}
    evidence = f"{CLIENTS - len(failures)}/{CLIENTS} answered"
    for i, first in failures.items():
        line = f"{evidence}; client {i}: {first.line}"
        return Observation("error", line, failed(first).answer)
    return Observation("honoured", evidence)


def _at_once(client: Client) -> Observation:
    """Compare those that get an answer. Raises ServerFailure if none does."""
    prompts, requests = zip(*(_own(client, i) for i in range(CLIENTS)), strict=True)
    asked = [client.streamed if i % 8 == 1 else client.complete for i in range(CLIENTS)]
    alone = [ask(*one) for ask, *one in zip(asked, prompts, requests, strict=True)]
    for answer, sent in zip(alone, requests, strict=True):
        if not answer.has_all(sent[client.dialect.length]):
            return Observation("other meaning", f"{len(answer.tokens or ())} tokens come", answer)
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(_tried, asked, prompts, requests))
    together = {i: one for i, one in enumerate(tried) if isinstance(one, Answer)}
    if not together:
        raise next(one for one in tried if isinstance(one, ServerFailure))
    apart = [i for i, answer in together.items() if alone[i].text != answer.text]
    equal = len(together) - len(apart)
    evidence = f"{equal}/{len(together)} texts as alone, each with its own parameters"
    figures = {"equal": float(equal)}
    texts = {answer.text: i for i, answer in enumerate(alone)}
    for i, answer in together.items():
        if not answer.consistent:
            line = f"client {i}: probabilities of other tokens than its text"
            return Observation("error", line, answer, figures)
    for i in apart:
        got = f"; client {i}: {together[i].got}, alone {alone[i].got}"
        if (owner := texts.get(together[i].text)) is not None:
            line = f"{evidence}; client {i} got the text of client {owner}"
            return Observation("error", line, together[i], figures)
        if "logit_bias" in requests[i] or 2 * equal < len(together) or together[i].refusal:
            return Observation("other meaning", evidence + got, together[i], figures)
    if apart:
        evidence += f"{got}: not judged, a batch changes the last bits of logits"
    shown = together[apart[0]] if apart else next(iter(together.values()))
    return Observation("honoured", evidence, shown, figures)


def _streams_at_once(client: Client) -> Observation:
    """Require whole texts: one that is only a beginning of its text was cut."""
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(STREAMS)]
    requests = [_seeded(client, seed=100 + i) for i in range(STREAMS)]
    alone = [one.text for one in map(client.complete, prompts, requests)]
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
