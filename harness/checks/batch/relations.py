"""Check that no row of a batch depends on another, whatever its samplers do.

Each relation is another request to the same backend, and tokens that must be the same. Relations
need no reference, so every backend that takes a batch is judged by them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sampler_parity.harness.bundle.records import BackendResult, LiveRow
from sampler_parity.harness.checks.batch.block import seeded
from sampler_parity.harness.checks.stages.own_random import draws_own
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.client_serving import Batch, BatchRan, batch
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSample, BatchStep, ChainSpec, Operation

_JOIN: Operation = ("join", 0)
_RESET: Operation = ("reset", 0)


@dataclass(frozen=True)
class Where:
    """A row that samples: the step, its number among those that sample there, its place in the live
    batch, the number of live rows, and how often it sampled before."""

    step: int
    index: int
    at: int
    of: int
    nth: int


@dataclass
class Path:
    """A live row from when it joins. taken: its samples, each with the resets before it; a clone
    begins with those of its original. samples: where it sampled itself."""

    sequence: int
    taken: list[tuple[int, BatchSample]] = field(default_factory=list)
    samples: list[Where] = field(default_factory=list)
    resets: int = 0

    def clone(self) -> "Path":
        return Path(self.sequence, self.taken.copy(), resets=self.resets)

    def reset(self) -> None:
        self.resets += 1

    def alone(self) -> list[BatchStep]:
        """Return the script of a batch of this row alone, as sequence 0. It has no clone: a copy
        does the same as its original."""
        steps = []
        for i, (resets, sample) in enumerate(self.taken):
            before = [_JOIN] * (i == 0) + [_RESET] * resets
            steps.append(BatchStep(before=before, sample=[sample.model_copy(update={"at": 0})]))
        return steps


def paths(steps: Sequence[BatchStep]) -> list[Path]:
    """Return the path of each live row that samples, in the order in which they were created."""
    created: list[Path] = []

    def come(path: Path) -> Path:
        created.append(path)
        return path

    live = Live(lambda s: come(Path(s)), lambda path: come(path.clone()), Path.reset)
    for number, step in enumerate(steps):
        live.do(step.before)
        for index, sample in enumerate(step.sample):
            path = live.rows[sample.at]
            path.samples.append(Where(number, index, sample.at, len(live.rows), len(path.taken)))
            path.taken.append((path.resets, sample))
            path.resets = 0
    return [path for path in created if path.samples]


def mirrored(steps: Sequence[BatchStep]) -> list[BatchStep]:
    """Return the same script with the rows in reverse order while they sample, and sampled in
    reverse order. Between the steps they change back, because the script names their places."""
    live: Live[None] = Live(lambda s: None, lambda row: None, lambda row: None)
    turned: list[Operation] = []
    mirror = []
    for step in steps:
        live.do(step.before)
        n = len(live.rows)
        turn: list[Operation] = [("swap", i, n - 1 - i) for i in range(n // 2)]
        sample = [
            original.model_copy(update={"at": n - 1 - original.at})
            for original in reversed(step.sample)
        ]
        mirror.append(BatchStep(before=[*turned, *step.before, *turn], sample=sample))
        turned = turn
    return mirror


@dataclass(frozen=True)
class Broken:
    """A relation that does not hold. where: the row with another token; None if no row can be
    named."""

    detail: str
    where: Where | None = None


def first_broken(
    request: Batch, rows: Sequence[Row], ran: BatchRan, backend: Backend, alone: int | None
) -> BackendResult | None:
    """Return the first relation that does not hold. ran: the backend's reply to the batch. alone:
    how many rows are asked alone; None: all."""
    broken = next(_relations(request, rows, ran, backend, alone), None)
    if broken is None:
        return None
    return _result(broken, ran)


def changed(ran: BatchRan) -> BackendResult | None:
    """Return a failure if the request changed its rows of logits. It is checked first, because it
    can cause any other difference."""
    broken = next(_changed(ran), None)
    return _result(broken, ran) if broken else None


def _result(broken: Broken, ran: BatchRan) -> BackendResult:
    where = broken.where
    return BackendResult(
        verdict="diverged",
        ns=ran.ns,
        step=where.step if where else None,
        stage="relation",
        detail=broken.detail,
        row=LiveRow(at=where.at, of=where.of) if where else None,
    )


def _relations(
    request: Batch, rows: Sequence[Row], ran: BatchRan, backend: Backend, alone: int | None
) -> Iterator[Broken]:
    live = paths(request.steps)
    judged = [path for path in live if _repeats(request.sequences[path.sequence].chain, backend)]
    repeated = batch(backend, request, rows, "token")
    yield from _changed(repeated)
    yield from _same(judged, ran, repeated.tokens, "asked again")
    turned = batch(backend, replace(request, steps=mirrored(request.steps)), rows, "token").tokens
    yield from _same(judged, ran, [list(reversed(step)) for step in turned], "in the other order")
    for path in _some(judged, alone):
        sequence = request.sequences[path.sequence]
        by_itself = replace(request, sequences=[sequence], steps=path.alone())
        tokens = batch(backend, by_itself, rows, "token").tokens
        for where in path.samples:
            got = ran.tokens[where.step][where.index]
            if tokens[where.nth][0] != got:
                yield Broken(_message("alone", tokens[where.nth][0], got), where)


def _repeats(chain: ChainSpec, backend: Backend) -> bool:
    """Return whether a row selects the same tokens again. One that draws with the backend's own
    random numbers need not."""
    return seeded(chain) and not draws_own(backend, (name for stage in chain for name in stage))


def _changed(ran: BatchRan) -> Iterator[Broken]:
    if ran.changed:
        yield Broken(f"row {ran.changed[0]} of the logits was changed in place")


def _same(
    judged: Sequence[Path], ran: BatchRan, tokens: list[list[int | None]], how: str
) -> Iterator[Broken]:
    samples = ((where, path) for path in judged for where in path.samples)
    for where, _ in sorted(samples, key=lambda pair: (pair[0].step, pair[0].index)):
        before, now = (result[where.step][where.index] for result in (ran.tokens, tokens))
        if before != now:
            yield Broken(_message(how, now, before), where)


def _message(how: str, token: int | None, before: int | None) -> str:
    return f"{how} this row selects {_token(token)}, in the batch {_token(before)}"


def _token(token: int | None) -> str:
    return "no token" if token is None else f"token {token}"


def _some(judged: Sequence[Path], count: int | None) -> list[Path]:
    """Return this many of them, spread from the first to the last."""
    n = len(judged)
    if count is None or count >= n:
        return list(judged)
    return [judged[round(i * (n - 1) / max(1, count - 1))] for i in range(count)]
