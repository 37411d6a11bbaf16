"""Run a worker's chain on rows of logits: the selected token, and what each stage leaves."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.dtypes import widened
from sampler_parity.harness.protocol.interface import Instance, Result, Worker
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.harness.strict import like


@dataclass
class Sampling:
    """Chains on rows of logits, for one request. at: where the next stage is written. ns: spent in
    the backend's own code."""

    worker: Worker
    scratch: Scratch
    at: int
    shown: bool
    ns: int = 0

    def sample(
        self, instance: Instance, stages: int, row: NDArray[np.float32]
    ) -> tuple[int | None, list[p.StageResult]]:
        """Return the selected token and, if shown, the candidates after each stage."""
        result_of, clock = self.worker.result, time.perf_counter_ns
        candidates = self.worker.candidates(row)
        results, ns = [], 0
        for stage in range(stages) if self.shown else [None]:
            start = clock()
            instance.apply(stage, candidates)
            ns += clock() - start
            if self.shown:
                shown, self.at = write(self.scratch, self.at, result_of(candidates))
                results.append(shown)
        self.ns += ns
        ids, _, _, _, selected = result_of(candidates)
        return int(ids[selected]) if 0 <= selected < len(ids) else None, results

    def write(self, result: Result) -> p.StageResult:
        stage, self.at = write(self.scratch, self.at, result)
        return stage


def rows_of(scratch: Scratch, rows: p.Rows) -> NDArray[np.float32]:
    """Return float32[count, n]: mapped if stored as float32, else converted copies."""
    kept_as = np.float32 if rows.dtype == "float32" else np.uint16
    values = widened(scratch.view(rows.at, rows.count * rows.n, kept_as), rows.dtype)
    return values.reshape(rows.count, rows.n)


def accept(instance: Instance, wanted: int | Literal["selected"] | None, token: int | None) -> None:
    """Accept a token. wanted: as in a step. token: the one that the chain selected."""
    accepted = token if wanted == "selected" else wanted
    if accepted is not None:
        instance.accept(accepted)


def accept_past(instance: Instance, history: list[int], n_prompt: int) -> None:
    """Accept the history, of which the first n_prompt tokens are the prompt's."""
    of_prompt = getattr(instance, "accept_prompt", instance.accept)
    for token in history[:n_prompt]:
        of_prompt(token)
    for token in history[n_prompt:]:
        instance.accept(token)


_STAGE = p.StageResult(at=0, n=0)


def write(scratch: Scratch, at: int, result: Result) -> tuple[p.StageResult, int]:
    ids, logits, probs, is_sorted, selected = result
    n = len(ids)
    place = scratch.view(at, 3 * n, np.int32)
    floats = place.view(np.float32)
    place[:n] = ids
    floats[n : 2 * n] = logits
    floats[2 * n :] = probs
    # as StageResult(...), of which a run has hundreds
    return like(_STAGE, at=at, n=n, sorted=is_sorted, selected=selected), at + 12 * n


def write_table(scratch: Scratch, at: int, stages: list[list[p.StageResult]]) -> None:
    """Write n, sorted and selected of each stage as int32. sorted: 0 or 1, or -1 if not known. A
    larger `selected` becomes the largest, which is no index either."""
    rows = [
        (stage.n, -1 if stage.sorted is None else stage.sorted, stage.selected)
        for of_step in stages
        for stage in of_step
    ]
    limits = np.iinfo(np.int32)
    table = np.array(rows, np.int64).clip(limits.min, limits.max).ravel()
    scratch.view(at, len(table), np.int32)[:] = table
