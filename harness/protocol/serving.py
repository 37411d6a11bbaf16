"""Answer the request `batch` with a worker in Python: a chain for each live row.

A worker with its own way to serve has a class attribute `serving`, used in place of this class.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Instance, Worker
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import Sampling, accept, accept_past, rows_of
from sampler_parity.harness.protocol.scratch import Scratch

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
