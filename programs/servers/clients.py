"""Find from how many requests in flight on a server loses a parameter: a ladder of 2, 4, 8 ... .

On each rung all clients ask at once about one parameter, each with its own value. A batch changes
the last bits of logits, so another text alone proves nothing. A value is lost if the text is that
of another client or of no value, if it has another length, or if a forced token does not come. A
seed is lost if more texts begin otherwise than near ties of logits explain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from threading import Barrier
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import TOKEN, ServerParameter
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation, observe
from sampler_parity.programs.servers.probe import Probe, later_words
from sampler_parity.programs.servers.server_record import ServerResult

MOST, MOST_QUICK = 64, 16
_VALUES = 16  # of each parameter
_ROUNDS = 3
_SEED = 500
_MIXED = "a seed among as many requests without one"
_FORCED = 90.0
_BEGINNING = 4  # characters: one or two tokens
# A batch moves a logit by 0.0072 at most (concurrency.py), and a draw in 1 of 280 tokens. So many
# of 16 seeds begin otherwise by it in 1 of 39,000 rungs.
_LOST = 3
_OF_TEMPERATURE = ("seed", "length", "stops")  # their texts change with a lost temperature
_ANSWERED = 32  # more may be refused: state.py requires so many


def check_clients(client: Client, most: int = MOST) -> Iterator[ServerResult]:
    """Return one result. most: requests in flight on the last rung."""
    yield from observe("state", {"clients": partial(_ladder, most)}, client)


_Pair = tuple[Answer, Answer]


@dataclass
class _Ladder:
    """The answers of requests alone, by parameter, and what is lost: the parameter and the rung.
    unset: texts without the parameter."""

    probe: Probe
    alone: dict[str, list[Answer]]
    unset: dict[str, set[str]]
    lost: dict[str, tuple[str, Answer]] = field(default_factory=dict)


def rungs(most: int) -> list[int]:
    """Return 2, 4, 8 ... and the largest number, which may be between two of them."""
    return [*takewhile(lambda n: n < most, (2**i for i in range(1, 20))), most]


def _ladder(most: int, client: Client) -> Observation:
    probe = Probe(client)
    probe.seeds = probe.again(probe.hot()).text == probe.hot().text
    rows = {row.name: row for row in client.dialect.parameters if row.documented}
    alone = {name: _alone(probe, row) for name, row in rows.items() if row.effect in _LOSSES}
    alone = {name: answers for name, answers in alone.items() if answers}
    unset = {name: _unset(probe, rows[name]) for name in alone}
    ladder = _Ladder(probe, alone, unset)
    if not alone:
        return Observation("skipped", "the texts show no parameter, so none can be lost")
    reached, why = 1, ""
    for n in rungs(most):
        try:
            _climb(ladder, rows, n, reached)
        except ServerFailure as failure:
            if n <= _ANSWERED:
                raise
            why = f"; {n} are not all answered: {failure.line}"
            break
        reached = n
    return _observed(ladder, reached, why)


def _observed(ladder: _Ladder, reached: int, why: str) -> Observation:
    if not ladder.lost:
        names = ", ".join(ladder.alone)
        return Observation("honoured", f"up to {reached} at once, each with its own {names}{why}")
    lines = [f"{name} is lost from {rung}" for name, (rung, _) in ladder.lost.items()]
    _, example = next(iter(ladder.lost.values()))
    return Observation("other meaning", "; ".join(lines) + why, example)


def _climb(ladder: _Ladder, rows: dict[str, ServerParameter], n: int, before: int) -> None:
    """Ask n clients about each parameter that is not lost yet. before: the rung before. Raises
    ServerFailure."""
    for name in sorted(ladder.alone, key=lambda name: rows[name].effect in _OF_TEMPERATURE):
        alone, relies = ladder.alone[name], rows[name].effect in _OF_TEMPERATURE
        if name in ladder.lost or (relies and "temperature" in ladder.lost):
            continue
        wants = [alone[i % len(alone)] for i in range(n)]
        pairs = _at_once(ladder.probe, wants)
        if (example := _lost(rows[name].effect, pairs, ladder.unset[name])) is not None:
            ladder.lost[name] = f"{n} requests in flight on, right with {before}", example
        elif name == "seed" and n > 1 and _MIXED not in ladder.lost:
            pairs = _at_once(ladder.probe, wants[: n // 2], seedless=n // 2)
            if (example := _lost("seed", pairs, set())) is not None:
                ladder.lost[_MIXED] = f"{n} requests in flight on, right with {before}", example


def _alone(probe: Probe, row: ServerParameter) -> list[Answer]:
    """Return the answers to requests with a value each; [] if they show nothing."""
    answers = [answer for i in range(_VALUES) for answer in _asked(probe, row, i)]
    refused = any(answer.refusal for answer in answers)
    return [] if refused or len({answer.text for answer in answers}) < 2 else answers


def _asked(probe: Probe, row: ServerParameter, i: int) -> list[Answer]:
    """Return the answers to one value, and for a filter to its neutral value with the same seed."""
    if row.effect == "forces":
        return [probe.greedy(**probe.bias({TOKEN - i: _FORCED}))]
    if row.effect == "length":
        return [probe.greedy(**{row.name: 2 + i})]
    if row.effect == "stops":
        words = later_words(probe.greedy().text)
        return [probe.greedy(**{row.name: [word]}) for word in words[i : i + 1]]
    if not probe.seeds:
        return []
    if row.effect == "seed":
        return [probe.hot(_SEED + i, **_unstated(probe))]
    values = (row.effective, row.neutral) if i < _VALUES // 2 else ()
    return [probe.hot(_SEED + i, **row.at(value)) for value in values]


def _unset(probe: Probe, row: ServerParameter) -> set[str]:
    """Return the texts of a filter's requests without the filter."""
    if row.effect != "greedy":
        return set()
    return {probe.hot(_SEED + i, **row.at(None)).text for i in range(_VALUES // 2)}


def _unstated(probe: Probe) -> dict[str, None]:
    """Return what a request for a seed does not state, so that only temperature and seed count."""
    return dict.fromkeys(name for name in probe.neutral if name != "temperature")


def _at_once(probe: Probe, wants: Sequence[Answer], seedless: int = 0) -> list[_Pair]:
    """Ask again, all clients at once, each several times in a row. Return what each request has
    alone and in company. seedless: clients that ask without a seed. Raises ServerFailure."""
    client = probe.client
    bodies = [client.parameters_of(want.sent) for want in wants]
    bodies += [{**body, "seed": None} for body in bodies[:seedless]]
    gate = Barrier(len(bodies), timeout=client.seconds)

    def ask(body: Mapping[str, Any]) -> list[Answer]:
        sent = {name: value for name, value in body.items() if value is not None}
        gate.wait()
        return [client.complete(probe.prompt, sent) for _ in range(_ROUNDS)]

    with ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(ask, bodies))[: len(wants)]
    return [(want, got) for want, row in zip(wants, answers, strict=True) for got in row]


def _lost(effect: str, pairs: Sequence[_Pair], unset: set[str]) -> Answer | None:
    """Return an answer that shows the loss of a parameter."""
    texts = unset | {want.text for want, _ in pairs}
    if effect == "seed":
        differing = {
            want.text: got for want, got in pairs if got.text[:_BEGINNING] != want.text[:_BEGINNING]
        }
        return next(iter(differing.values())) if len(differing) >= _LOST else None
    return next(
        (got for want, got in pairs if got.refusal or _LOSSES[effect](want, got, texts)), None
    )


def _exchanged(want: Answer, got: Answer, texts: set[str]) -> bool:
    """Return whether a text is that of another value, or of none."""
    return got.text != want.text and got.text in texts


def _unforced(want: Answer, got: Answer, texts: set[str]) -> bool:
    return got.text != want.text


def _cut(want: Answer, got: Answer, texts: set[str]) -> bool:
    """Return whether an answer ends earlier or later in the same text."""
    common = want.plain.startswith(got.plain) or got.plain.startswith(want.plain)
    return common and want.plain != got.plain


_LOSSES: dict[str, Callable[[Answer, Answer, set[str]], bool]] = {
    "greedy": _exchanged,
    "forces": _unforced,
    "length": _cut,
    "stops": _cut,
    "seed": _exchanged,
}
