"""The request `batch`: the sequences that sample in a step are the rows of one launch."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import launches
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.shown import launch, sampled
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result


class Serving(launches.Serving):
    def request_of(self, sequence: p.BatchSequence) -> Request:
        return Request.of(sequence.chain, sequence.prompt, sequence.output)

    def sampled(
        self, requests: list[Request], rows: NDArray[np.float32], stages: bool
    ) -> list[tuple[int, list[Result]]]:
        if stages:
            return sampled(self.worker.engine, requests, rows)
        longest = max(len(request.chain) for request in requests)
        last = launch(self.worker.engine, requests, rows, longest, draws=True)
        return [(token, []) for token in last.tokens]
