"""The request `batch`: the sequences that sample in a step are the rows of one launch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.vllm_gpu import requests as slots
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.shown import launch, sampled
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import write
from sampler_parity.harness.protocol.scratch import Scratch


class Serving:
    def __init__(self, worker: Any, scratch: Scratch, request: p.BatchRequest) -> None:
        self.engine = worker.engine
        self.scratch, self.asked, self.at = scratch, request, request.out
        rows = scratch.view(request.rows.at, request.rows.count * request.rows.n, np.float32)
        self.rows: NDArray[np.float32] = rows.reshape(request.rows.count, request.rows.n)
        self.live: Live[Request] = Live(self.join, Request.copy, lambda one: one.past.clear())

    def join(self, number: int) -> Request:
        sequence = self.asked.sequences[number]
        return Request.of(sequence.chain, sequence.prompt, sequence.output)

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
        tokens: list[int | None] = []
        stages: list[list[p.StageResult]] = []
        if self.asked.detail == "stages":
            results = sampled(self.engine, requests, rows)
        else:
            longest = max(len(request.chain) for request in requests)
            last = launch(self.engine, requests, rows, longest, draws=True)
            results = [(token, []) for token in last.tokens]
        for one, request, (token, shown) in zip(wanted, requests, results, strict=True):
            selected = token if slots.SELECT in request.slots else None
            tokens.append(selected)
            stages.append([self.written(result) for result in shown])
            accepted = selected if one.accept == "selected" else one.accept
            if accepted is not None:
                request.past.output.append(accepted)
        return tokens, stages

    def written(self, result: Any) -> p.StageResult:
        shown, self.at = write(self.scratch, self.at, result)
        return shown
