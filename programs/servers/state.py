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
from dataclasses import dataclass, replace
from functools import partial
from threading import Barrier
from typing import Any

from sampler_parity.programs.servers import streams
from sampler_parity.programs.servers.answer import FULL, Answer
from sampler_parity.programs.servers.choices import choice_tests
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import EOS, SEVERAL, TOKEN, Dialect
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.invariants import INVARIANTS, OF_OPENAI, offered
from sampler_parity.programs.servers.observation import (
    Observation,
    ServerTest,
    failed,
    honoured_if,
    observe,
)
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS, Probe
from sampler_parity.programs.servers.prompts import prompts_differ, several_at_once
from sampler_parity.programs.servers.server_record import ServerResult

CLIENTS, STREAMS = 32, 4  # no more streams than any server listens for
PLAIN, STREAMED, DISCONNECTED, REFUSED = (
    "a plain request",
    "a stream",
    "a client that left",
    "a refusal",
)
LOUD, LOUD_STREAM, GRAMMAR, SCHEMA = "another request", "another stream", "a grammar", "a schema"
LISTS, EMPTY, LONG = "probabilities", "an empty prompt", "a long prompt"
KINDS = (
    *(PLAIN, STREAMED, DISCONNECTED, REFUSED, LOUD, LOUD_STREAM),
    *(GRAMMAR, SCHEMA, LISTS, SEVERAL, EMPTY, LONG),
)
_NONSENSE = 6  # refused requests
_SOON = 4  # times that a request follows a client that left
_SHORT = 5
_STOPS = ["e", " ", "a", "\n"]  # any text has one of them
# Parameters of clients at once: of client i this value and i times the other, where documented.
_FORCED = 90.0  # a bias that OpenAI allows
_RANGES = {
    "top_k": (20, 1),
    "top_p": (0.8, 0.005),
    "repeat_penalty": (1.0, 0.01),
    "repetition_penalty": (1.01, 0.01),
    "frequency_penalty": (0.0, 0.02),
}


def check_state(client: Client) -> Iterator[ServerResult]:
    yield from observe("state", state_tests(client.dialect), client)


def check_quickly(client: Client) -> Iterator[ServerResult]:
    """Return the results that take few requests."""
    tests: dict[str, ServerTest] = {
        "a seed repeats": _repeats,
        streams.NAME: streams.check_streams,
        **choice_tests(client.dialect),
    }
    yield from observe("state", tests, client)


def state_tests(dialect: Dialect) -> dict[str, ServerTest]:
    """Return the tests of a dialect. Tests of pairs of requests share one walk."""
    walked: dict[str, Observation] = {}

    def after(kind: str, client: Client) -> Observation:
        if not walked:
            walked.update(_walk(client))
        why = dialect.unavailable.get(kind, f"the dialect does not offer {kind}")
        return walked.get(kind) or Observation("skipped", why)

    return {
        "a seed repeats": _repeats,
        streams.NAME: streams.check_streams,
        "a prompt twice": _counted_twice,
        **({"other names": _other_names} if dialect.aliases.get(dialect.length) else {}),
        "one connection": _kept,
        "nothing left": _nothing_left,
        **{f"after {kind}": partial(after, kind) for kind in KINDS},
        "prompts that differ": prompts_differ,
        "a list of prompts": several_at_once,
        **choice_tests(dialect),
        **registry.own_tests(dialect.name),
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
    return {client.dialect.length: LENGTH, **_steady(client.dialect), **drawn, **changed}


def _steady(dialect: Dialect) -> dict[str, Any]:
    """Switch mirostat off where it is the default: its feedback makes another text of the last bits
    of logits, which a batch changes."""
    rows = [row for row in dialect.parameters if row.name == "mirostat" and row.default]
    return {row.name: row.neutral for row in rows}


def _repeats(client: Client) -> Observation:
    if "seed" not in _names(client):
        return Observation("skipped", "the dialect has no seed")
    first, repeated = (client.complete(PROMPTS[0], _seeded(client)) for _ in range(2))
    wrong = f"another text: {repeated.got}, {first.got}"
    return honoured_if(first.text == repeated.text, "twice the same text", wrong, repeated)


def _counted_twice(client: Client) -> Observation:
    """Require one count of a prompt's tokens, whether they are in the server's cache or not."""
    cached = {name: True for name in client.dialect.always if name == "cache_prompt"}
    sent = {client.dialect.length: 1, **cached}
    answers = [client.complete(PROMPTS[1], sent) for _ in range(2)]
    counts = [
        answer.last.get("tokens_evaluated", (answer.last.get("usage") or {}).get("prompt_tokens"))
        for answer in answers
    ]
    if None in counts and not answers[-1].refusal:
        return Observation("skipped", "no answer counts the tokens of its prompt", answers[-1])
    line = f"the tokens of a prompt, asked twice, are {counts[0]} and {counts[1]}"
    return honoured_if(counts[0] == counts[1], line, line, answers[-1])


def _other_names(client: Client) -> Observation:
    """Require the text of a length by each of its names, without the others."""
    dialect = client.dialect
    neutral = {**dialect.neutral, "temperature": 0.0}
    want = client.complete(PROMPTS[0], {**neutral, dialect.length: _SHORT})
    names = dialect.aliases[dialect.length]
    for name in names:
        answer = client.complete(PROMPTS[0], {**neutral, name: _SHORT})
        if answer.text != want.text or answer.refusal:
            line = f"{name} {_SHORT}: not the text of {dialect.length} {_SHORT}, {answer.got}"
            return honoured_if(False, "", line, answer)
    right = f"{', '.join(names)}: the text of {dialect.length} {_SHORT}"
    return Observation("honoured", right, want)


def _kept(client: Client) -> Observation:
    """Send requests on one connection, and compare them with those on connections of their own."""
    loud_request = _seeded(client, seed=5) | _loud(client)
    expected = [client.complete(PROMPTS[0], sent) for sent in (loud_request, _seeded(client))]
    sent = (loud_request, _seeded(client), _seeded(client))
    several = client.in_turn([(PROMPTS[0], fields) for fields in sent])
    for want, got in zip((*expected, expected[-1]), several, strict=False):
        if (observed := _as_alone(want, got, f"of {len(several)}: ")).verdict != "honoured":
            return observed
    return Observation("honoured", f"{len(several)} requests on one, each as alone", several[-1])


def _loud(client: Client) -> dict[str, Any]:
    """Return an effect of every parameter that PLAIN does not state, and stop strings."""
    loud: dict[str, Any] = {}
    for row in client.dialect.parameters:
        if row.documented and row.effect not in ("shape", "seed", "length"):
            also = {name: v for name, v in row.also.items() if EOS not in json.dumps(v)}
            loud |= {row.name: row.effective, **also}
    return loud | ({"stop": _STOPS} if "stop" in loud else {})


@dataclass(frozen=True)
class AskedKind:
    """A kind of request. leaves: after so many events of a stream."""

    sent: dict[str, Any]
    prompt: str = PROMPTS[0]
    streams: bool = False
    leaves: int | None = None

    def ask(self, client: Client) -> Answer | ServerFailure:
        if self.streams:
            streamed = partial(client.streamed, leave_after=self.leaves)
            return _tried(streamed, self.prompt, self.sent)
        return _tried(client.complete, self.prompt, self.sent)


def kinds_of(client: Client) -> dict[str, AskedKind]:
    """Return every kind of request that the dialect has. LOUD states all that PLAIN does not."""
    dialect, loud = client.dialect, _loud(client)
    kinds = {
        PLAIN: AskedKind(_seeded(client)),
        STREAMED: AskedKind(_seeded(client), streams=True),
        DISCONNECTED: AskedKind(
            _seeded(client, **loud, **{"seed": 6, dialect.length: 200}), PROMPTS[0], True, 2
        ),
        REFUSED: AskedKind(_seeded(client) | loud | {"seed": 5, "temperature": "a word"}),
        LOUD: AskedKind(_seeded(client) | loud | {"seed": 5}),
        LOUD_STREAM: AskedKind(
            _seeded(client) | loud | dialect.probabilities | {"seed": 4}, streams=True
        ),
        EMPTY: AskedKind(_seeded(client, seed=3), ""),
        LONG: AskedKind(_seeded(client, seed=2), PROMPTS[1] * 7),
    }
    shapes = [row.at(row.effective) for row in dialect.parameters if row.effect == "shape"]
    for kind, shape in zip((GRAMMAR, SCHEMA), shapes, strict=False):
        kinds[kind] = AskedKind(_seeded(client, **shape))
    if dialect.probabilities:
        kinds[LISTS] = AskedKind(_seeded(client, seed=1) | dialect.probabilities)
    if dialect.several:
        kinds[SEVERAL] = AskedKind(_seeded(client, **dialect.several))
    return kinds


def _walk(client: Client) -> dict[str, Observation]:
    """Send every kind of request after every kind, and compare it with the first of its kind.
    Return an observation for each kind that came before."""
    kinds = kinds_of(client)
    alone: dict[str, Answer] = {}
    wrong: dict[str, Observation] = {}
    before = PLAIN
    for kind in _circuit([*kinds]):
        got = kinds[kind].ask(client)
        if kind != REFUSED and (observed := _unlike(kind, got, alone)):
            wrong.setdefault(before, observed)
        before = kind
    right = Observation("honoured", f"{len(kinds)} kinds of requests, each as alone")
    return {kind: wrong.get(kind, right) for kind in kinds}


def leaving(client: Client) -> Iterator[tuple[str, AskedKind]]:
    """Return each kind of request with loud values of every parameter, and requests that are
    refused: for a number, a list, a prompt, and what only the sampler refuses."""
    dialect = client.dialect
    loud = _loud(client) | {"seed": 5, "temperature": 0.0, dialect.length: 3}
    for name, kind in kinds_of(client).items():
        if name == DISCONNECTED:  # in the middle: nothing ends it before
            long = loud | {"stop": [], dialect.length: 200}
            variants = [{}, dialect.probabilities, *({k: v} for k, v in dialect.endless.items())]
            for variant in variants:
                yield f"{name}, {variant}", replace(kind, sent=long | variant)
        elif name not in (PLAIN, LONG, REFUSED):  # refusals follow below
            yield name, replace(kind, sent=kind.sent | loud)
    loose = ("temperature", dialect.length)  # stay as they are above
    rows = [row for row in dialect.parameters if row.documented and row.name not in loose]
    nonsense = {json.dumps(row.wrong): row.at(row.wrong) for row in reversed(rows)}
    nonsense |= {row.name: row.at(row.beyond) for row in rows if row.beyond and not row.bound}
    for value in [*nonsense.values()][:_NONSENSE]:
        yield f"a refused {next(iter(value))}", AskedKind(loud | value)


def _nothing_left(client: Client) -> Observation:
    """Send each of `leaving` before a request that states neither temperature nor length, and
    before one without a seed. Texts without a seed differ."""
    dialect = client.dialect
    seed = next((row for row in dialect.parameters if row.name == "seed"), None)
    if seed is None:
        return Observation("skipped", "the dialect has no seed")
    seeded = {"seed": 11, **_steady(dialect)}
    text = client.complete(PROMPTS[0], {**seeded, dialect.length: LENGTH}).longest
    bare = {**seeded, "stop": [text[len(text) // 2 :][:4]]}
    unseeded = {**dialect.neutral, "temperature": dialect.hot, dialect.length: LENGTH}
    random = dialect.random and seed.default is not None
    alone, texts = client.complete(PROMPTS[0], bare), dict[str, str]()
    kinds = [*leaving(client)]
    for what, kind in kinds:
        # A server notices some time later that a client left.
        for i in range(1 if kind.leaves is None else _SOON):
            kind.ask(client)
            for ask in (client.complete, client.streamed, client.complete)[: 1 if i % 2 else 3]:
                observed = _as_alone(alone, ask(PROMPTS[0], bare), f"after {what}: ")
                if kind.leaves is not None and observed.verdict != "honoured":
                    kind.ask(client)  # once more: a batch with its rest changes the last bits
                    observed = _as_alone(alone, ask(PROMPTS[0], bare), f"after {what}: ")
                if observed.verdict != "honoured":
                    return observed
        kind.ask(client)
        answer = client.complete(PROMPTS[0], unseeded)
        if answer.ended not in FULL:  # short texts may be equal
            continue
        if (same := texts.setdefault(answer.text, what)) != what and random:
            line = f"without a seed after {what}: the text after {same}, {answer.got}"
            return Observation("other meaning", line, answer)
    return Observation("honoured", f"{len(kinds)} kinds of loud requests leave nothing")


def _circuit(kinds: list[str]) -> Iterator[str]:
    """Return kinds so that each follows each once, itself included: a de Bruijn sequence."""
    for i, kind in enumerate(kinds):
        yield kind
        for following in kinds[i + 1 :]:
            yield from (kind, following)
    yield kinds[0]


def _unlike(kind: str, got: Answer | ServerFailure, alone: dict[str, Answer]) -> Observation | None:
    """Compare an answer with the first of its kind. A stream has the text of a plain request; what
    a client read before it left is not compared."""
    refused = isinstance(got, ServerFailure) or got.refusal
    if kind in (EMPTY, SEVERAL) and kind not in alone and refused:
        return None  # no dialect promises a text of it, and "choices" fails
    if isinstance(got, ServerFailure):
        return failed(got)
    first = alone.setdefault(PLAIN if kind == STREAMED else kind, got)
    observed = _as_alone(
        got if kind == DISCONNECTED else first, got, f"{kind}: " if kind != PLAIN else ""
    )
    return observed if observed.verdict != "honoured" else None


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
    """Return the prompt and the parameters of client i. Every second one forces a token, half of
    them with another kind of request. The others differ from the next in one thing alone, in turn:
    a server that takes them for equal is seen."""
    dialect, ranges = client.dialect, {k: v for k, v in _RANGES.items() if k in _names(client)}
    turns = 2 * (len(ranges) + 4)

    def step(offset: int) -> int:
        return (i + 2 * offset) // turns

    offsets = enumerate(ranges.items(), 4)
    values = {name: low + by * turns * step(offset) for offset, (name, (low, by)) in offsets}
    sent = _seeded(client, **values, seed=100 + step(0))
    sent[dialect.length] = LENGTH // 2 + step(1)
    if sent["temperature"]:
        sent["temperature"] = 0.9 + 0.3 * step(2)
    if i % 2 == 0:
        rows = [row for row in dialect.parameters if row.effect == "shape"]
        kinds = [row.at(value) for row in rows for value in (row.effective, *row.ladder)]
        kinds += [{"stop": _STOPS}, dialect.several, dialect.probabilities]
        more = kinds[i // 4 % len(kinds)] if i % 4 == 0 else {}
        sent |= Probe(client).bias({TOKEN - i: _FORCED}) | more
    elif dialect.text == "llama-server":  # names the tokens to compare with
        sent |= dialect.probabilities
    return PROMPTS[step(3) % len(PROMPTS)], sent


def _answered(client: Client) -> Observation:
    """Send a request each: a server that listens for fewer than come may reset the rest. Without a
    seed their texts differ, where the default is random."""
    random = client.dialect.random and any(
        row.name == "seed" and row.default is not None for row in client.dialect.parameters
    )
    sent = _seeded(client, **{client.dialect.length: 1})
    if random:
        hot = {"temperature": client.dialect.hot, client.dialect.length: LENGTH, "seed": None}
        sent = {k: v for k, v in {**client.dialect.neutral, **hot}.items() if v is not None}
    with ThreadPoolExecutor(CLIENTS) as pool:
        tried = list(pool.map(lambda _: _tried(client.complete, PROMPTS[0], sent), range(CLIENTS)))
    failures = {i: outcome for i, outcome in enumerate(tried) if isinstance(outcome, ServerFailure)}
    evidence = f"{CLIENTS - len(failures)}/{CLIENTS} answered"
    for i, first in failures.items():
        line = f"{evidence}; client {i}: {first.line}"
        return Observation("error", line, failed(first).answer)
    texts = [answer.text for answer in tried if isinstance(answer, Answer) and answer.ended in FULL]
    if random and len({*texts}) < len(texts):
        example = next(outcome for outcome in tried if isinstance(outcome, Answer))
        line = f"{evidence}, {len({*texts})} texts of {len(texts)} without a seed"
        return honoured_if(False, "", line, example)
    return Observation("honoured", evidence)


def _at_once(client: Client) -> Observation:
    """Compare those that get an answer. Raises ServerFailure if none does."""
    prompts, requests = zip(*(_own(client, i) for i in range(CLIENTS)), strict=True)
    # Every second client of those that only force a token streams.
    methods = [client.streamed if i % 8 == 2 else client.complete for i in range(CLIENTS)]
    alone = [ask(*request) for ask, *request in zip(methods, prompts, requests, strict=True)]
    for answer, sent in zip(alone, requests, strict=True):
        if not answer.has_all(sent[client.dialect.length]):
            return Observation("other meaning", f"{len(answer.tokens or ())} tokens come", answer)
    gate = Barrier(CLIENTS, timeout=client.seconds)  # all requests start together
    with ThreadPoolExecutor(CLIENTS) as pool:
        results = pool.map(
            lambda *request: (gate.wait(), _tried(*request))[1], methods, prompts, requests
        )
        tried = [*results]
    together = {i: outcome for i, outcome in enumerate(tried) if isinstance(outcome, Answer)}
    if not together:
        raise next(outcome for outcome in tried if isinstance(outcome, ServerFailure))
    differing = [i for i, answer in together.items() if alone[i].text != answer.text]
    equal = len(together) - len(differing)
    evidence = f"{equal}/{len(together)} texts as alone, each with its own parameters"
    figures = {"equal": float(equal)}
    texts = {answer.text: i for i, answer in enumerate(alone)}
    for i in differing:
        if (owner := texts.get(together[i].text)) is not None:
            line = f"{evidence}; client {i} got the text of client {owner}"
            return Observation("error", line, together[i], figures)
    for i in differing:
        got = f"; client {i}: {together[i].got}, alone {alone[i].got}"
        if "logit_bias" in requests[i] or 2 * equal < len(together) or together[i].refusal:
            return Observation("other meaning", evidence + got, together[i], figures)
    if differing:
        evidence += f"{got}: not judged, a batch changes the last bits of logits"
    example = together[differing[0]] if differing else next(iter(together.values()))
    return Observation("honoured", evidence, example, figures)


def _streams_at_once(client: Client) -> Observation:
    """Require whole texts: one that is only a beginning of its text was cut."""
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(STREAMS)]
    requests = [_seeded(client, seed=100 + i) for i in range(STREAMS)]
    alone = [answer.text for answer in map(client.complete, prompts, requests)]
    with ThreadPoolExecutor(STREAMS) as pool:
        streams = list(pool.map(client.streamed, prompts, requests))
    cut = [
        i
        for i, (stream, text) in enumerate(zip(streams, alone, strict=True))
        if stream.text != text and text.startswith(stream.text)
    ]
    first = cut[0] if cut else 0
    wrong = f"{len(cut)}/{STREAMS} are cut: {streams[first].got}, alone {json.dumps(alone[first])}"
    return honoured_if(not cut, f"{STREAMS}/{STREAMS} whole", wrong, streams[first])


def check_answers(client: Client) -> Iterator[ServerResult]:
    """Return a result for each invariant, of all answers before."""
    tests: dict[str, ServerTest] = {
        f"every answer: {name}": partial(_every, name)
        for name in INVARIANTS
        if name not in OF_OPENAI or offered(name, client.dialect)
    }
    yield from observe("state", tests, client)


def _every(name: str, client: Client) -> Observation:
    if name in client.traffic.broken:
        line, answer = client.traffic.broken[name]
        return Observation("other meaning", line, answer)
    client.require_sound()
    if not offered(name, client.dialect):
        return Observation("skipped", "the dialect does not offer them")
    if not client.traffic.answers:
        return Observation("error", "no answer came")
    if not (count := client.traffic.answers[name]):
        return Observation("skipped", f"no answer has {name}")
    return Observation("honoured", f"so are {count} answers")
