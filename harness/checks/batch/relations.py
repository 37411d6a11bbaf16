"""Check that no row of a batch depends on another, whatever its samplers do.

Each relation is another request to the same backend, and tokens that must be the same. Relations
need no reference, so every backend that takes a batch is judged by them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sampler_parity.harness.bundle.records.case import BackendResult, LiveRow
from sampler_parity.harness.checks.batch.batched import seeded
from sampler_parity.harness.checks.batch.paths import Path, Where, mirrored, paths
from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.client_batch import Batch, BatchRan, batch
from sampler_parity.harness.protocol.interface import Backend


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
    judged = [path for path in live if seeded(request.sequences[path.sequence].chain)]
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
