"""An engine that samples many requests at once: its row, and the request `batch`, where the
sequences that sample in a step are the rows of one launch."""

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.masked import listed
from sampler_parity.engines.shared.past import Past
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import write
from sampler_parity.harness.protocol.scratch import Scratch


@dataclass
class Row:
    """results: after each stage, once the chain was applied; at: the stage that is shown."""

    logits: NDArray[np.float32]
    results: list[Result] = field(default_factory=list)
    at: int = 0
    token: int = -1


class RowWorker:
    """The candidates of a worker are a Row."""

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        if row.results:
            return row.results[row.at]
        return listed(row.logits, np.zeros_like(row.logits), row.token, whole=True)


class Request(Protocol):
    past: Past

    @property
    def selects(self) -> bool:
        """Whether its chain ends in a token."""

    def copy(self) -> Self: ...


class Serving:
    """An engine defines request_of and sampled."""

    def __init__(self, worker: Any, scratch: Scratch, request: p.BatchRequest) -> None:
        self.worker = worker
        self.scratch, self.asked, self.at = scratch, request, request.out
        rows = scratch.view(request.rows.at, request.rows.count * request.rows.n, np.float32)
        self.rows: NDArray[np.float32] = rows.reshape(request.rows.count, request.rows.n)
        self.live: Live[Any] = Live(
            lambda number: self.request_of(self.asked.sequences[number]),
            lambda one: one.copy(),
            self.reset,
        )

    def request_of(self, sequence: p.BatchSequence) -> Any:
        """Return a Request. One without a past needs its own reset and accept here."""
        raise NotImplementedError

    def reset(self, request: Any) -> None:
        request.past.clear()

    def accept(self, request: Any, token: int) -> None:
        request.past.output.append(token)

    def sampled(
        self, requests: list[Any], rows: NDArray[np.float32], stages: bool
    ) -> list[tuple[int, list[Result]]]:
        """Return the token of each request, and the results of its stages if they are asked for."""
        raise NotImplementedError

    def answer(self) -> p.BatchReply:
        tokens, stages = [], []
        for step in self.asked.steps:
            self.live.do(step.before)
            selected, results = self.step(step.sample) if step.sample else ([], [])
            tokens.append(selected)
            stages.append(results)
        return p.BatchReply(tokens=tokens, stages=stages, ns=0)

    def step(
        self, wanted: list[p.BatchSample]
    ) -> tuple[list[int | None], list[list[p.StageResult]]]:
        requests = [self.live.rows[one.at] for one in wanted]
        rows = np.stack([self.rows[one.row] for one in wanted])
        results = self.sampled(requests, rows, self.asked.detail == "stages")
        tokens: list[int | None] = []
        stages: list[list[p.StageResult]] = []
        for one, request, (token, shown) in zip(wanted, requests, results, strict=True):
            selected = token if request.selects else None
            tokens.append(selected)
            stages.append([self.written(result) for result in shown])
            accepted = selected if one.accept == "selected" else one.accept
            if accepted is not None:
                self.accept(request, accepted)
        return tokens, stages

    def written(self, result: Result) -> p.StageResult:
        shown, self.at = write(self.scratch, self.at, result)
        return shown
