"""Run a worker's chain on rows of logits: the selected token, and what each stage leaves.

`Serving` answers the request `batch` with a chain for each live row. A worker with its own way to
serve has a class attribute `serving`, used in place of this class.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import widened
from sampler_parity.harness.protocol.interface import Instance, Result, Worker
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.scratch import Scratch


@dataclass
class Sampling:
    """Chains on rows of logits, for one request. at: where the next stage is written. table: n,
    sorted and selected of each stage, if the reply has none. ns: spent in the backend's own code.
    """

    worker: Worker
    scratch: Scratch
    at: int
    with_stages: bool
    table: list[int] | None = None
    ns: int = 0

    def sample(
        self, instance: Instance, stages: int, row: NDArray[np.float32], as_one: bool = False
    ) -> tuple[int | None, list[p.StageResult]]:
        """Return the selected token and, if with_stages, the candidates after each stage. as_one:
        add those of the whole chain as one object."""
        results: list[p.StageResult] = []
        token, ns = self._apply(
            instance, range(stages) if self.with_stages else [None], row, results
        )
        self.ns += ns
        if as_one and self.with_stages:
            self._apply(instance, [None], row, results)
        return token, results

    def _apply(
        self, instance: Instance, stages: Sequence[int | None], row: NDArray[np.float32],
        results: list[p.StageResult],
    ) -> tuple[int | None, int]:  # fmt: skip
        """Apply stages to candidates from a row. Return the selected token, and the nanoseconds. An
        instance may have `apply_all` (llama_cpp/chain.py), which does it in one call."""
        if apply_all := getattr(instance, "apply_all", None):
            out = (
                self.scratch.address(self.at, 3 * len(row) * len(stages)) if self.with_stages else 0
            )
            token, ns, values = apply_all(stages == [None], row, out)
            if self.with_stages:
                self._add(values, results)
            return token, ns
        result_of, clock = self.worker.result, time.perf_counter_ns
        candidates = self.worker.candidates(row)
        ns = 0
        for stage in stages:
            start = clock()
            instance.apply(stage, candidates)
            ns += clock() - start
            if self.with_stages:
                self.write(result_of(candidates), results)
        ids, _, _, _, selected = result_of(candidates)
        return int(ids[selected]) if 0 <= selected < len(ids) else None, ns

    def write(self, result: Result, results: list[p.StageResult]) -> None:
        """Write a stage, and add it to the table or to the results."""
        write_arrays(self.scratch, self.at, result)
        flag = -1 if result[3] is None else result[3]
        self._add([len(result[0]), flag, result[4]], results)

    def _add(self, values: list[int], results: list[p.StageResult]) -> None:
        """Add stages that are written: n, sorted and selected of each."""
        if self.table is not None:
            self.table += values
            self.at += 12 * sum(values[::3])
            return
        for n, flag, selected in zip(values[::3], values[1::3], values[2::3], strict=True):
            is_sorted = None if flag < 0 else bool(flag)
            results.append(p.StageResult(at=self.at, n=n, sorted=is_sorted, selected=selected))
            self.at += 12 * n


def rows_of(scratch: Scratch, rows: p.Rows) -> NDArray[np.float32]:
    """Return float32[count, n]: mapped if stored as float32, else converted copies."""
    kept_as = np.float32 if rows.dtype == "float32" else np.uint16
    values = widened(scratch.view(rows.at, rows.count * rows.n, kept_as), rows.dtype)
    return values.reshape(rows.count, rows.n)


def accept(instance: Instance, choice: int | Literal["selected"] | None, token: int | None) -> None:
    """Accept a token. choice: as in a step. token: the one that the chain selected."""
    accepted = token if choice == "selected" else choice
    if accepted is not None:
        instance.accept(accepted)


def accept_past(instance: Instance, history: list[int], n_prompt: int) -> None:
    """Accept the history, of which the first n_prompt tokens are the prompt's."""
    of_prompt = getattr(instance, "accept_prompt", instance.accept)
    for token in history[:n_prompt]:
        of_prompt(token)
    for token in history[n_prompt:]:
        instance.accept(token)


def write(scratch: Scratch, at: int, result: Result) -> tuple[p.StageResult, int]:
    n, is_sorted, selected = len(result[0]), result[3], result[4]
    end = write_arrays(scratch, at, result)
    return p.StageResult(at=at, n=n, sorted=is_sorted, selected=selected), end


def write_arrays(scratch: Scratch, at: int, result: Result) -> int:
    """Write the candidates at a byte offset; return the offset behind them."""
    ids, logits, probs, _, _ = result
    n = len(ids)
    words, floats = scratch.words(at, 3 * n)
    words[:n] = ids
    floats[n : 2 * n] = logits
    floats[2 * n :] = probs
    return at + 12 * n


def write_table(scratch: Scratch, at: int, values: list[int]) -> None:
    """Write n, sorted (0 or 1, or -1 if not known) and selected of each stage as int32. A larger
    `selected` becomes the largest, which is no index either."""
    words, _ = scratch.words(at, len(values))
    words[:] = np.minimum(np.maximum(np.array(values, np.int64), -(2**31)), 2**31 - 1)


Sample = tuple[int | None, list[p.StageResult]]


@dataclass
class Occupant:
    """A live row: its sequence, and its chain in its state."""

    sequence: p.BatchSequence
    instance: Instance


class Serving:
    """One request: all rows of a step sample, then all accept."""

    def __init__(self, worker: Worker, scratch: Scratch, request: p.BatchRequest) -> None:
        self.worker, self.request = worker, request
        self.sampling = Sampling(worker, scratch, request.out, request.detail == "stages")
        self.live = Live(self.join, self.clone, self.reset)
        self.rows = rows_of(scratch, request.rows)

    def answer(self) -> p.BatchReply:
        tokens, stages = [], []
        for step in self.request.steps:
            self.live.do(step.before)
            sampled = self.step(step.sample)
            tokens.append([token for token, _ in sampled])
            stages.append([results for _, results in sampled])
        return p.BatchReply(tokens=tokens, stages=stages, ns=self.sampling.ns)

    def step(self, wanted: list[p.BatchSample]) -> list[Sample]:
        sampled = [self.sample(self.live.rows[one.at], self.rows[one.row]) for one in wanted]
        for one, (token, _) in zip(wanted, sampled, strict=True):
            accept(self.live.rows[one.at].instance, one.accept, token)
        return sampled

    def join(self, number: int) -> Occupant:
        sequence = self.request.sequences[number]
        instance = self.worker.build(sequence.chain, self.request.n_vocab, self.request.vocab)
        accept_past(instance, [*sequence.prompt, *sequence.output], len(sequence.prompt))
        return Occupant(sequence, instance)

    def clone(self, row: Occupant) -> Occupant:
        return Occupant(row.sequence, row.instance.clone())

    def reset(self, row: Occupant) -> None:
        row.instance.reset()

    def sample(self, row: Occupant, logits: NDArray[np.float32]) -> Sample:
        return self.sampling.sample(row.instance, len(row.sequence.chain), logits)
