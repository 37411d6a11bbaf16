"""Results of the requests in vLLM's batch, stage by stage, and the request `batch`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import launches
from sampler_parity.engines.shared.masked import listed
from sampler_parity.engines.vllm import requests as slots
from sampler_parity.engines.vllm.batch import Batch
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.requests import Request
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.scratch import Scratch

_CUTS = ("top_k", "top_p", "min_p")


def results_of(
    request: Request, before: Any, shown: dict[int, Any], place: int, token: int, logprobs: Any
) -> list[Result]:
    """Return the results of the stages of a request. before: its row of logits."""
    torch = vllm().torch
    names = [name for stage in request.chain for name in stage]
    greedy = request.state.sampling_params.temperature < 1e-5
    cut, drawn, order = False, False, None
    results: list[Result] = []
    p_of = torch.zeros_like(before)
    for name, slot in zip(names, request.slots, strict=True):
        scores = shown[slot][place]
        cut = cut or name in _CUTS
        if name in ("top_k", "top_p"):
            order = -before
        if name == "top_p":
            p_of = before.softmax(-1)
        drawn = drawn or slot == slots.SELECT or (slot == slots.TEMPERATURE and greedy)
        if slot == slots.LOGPROBS or name == "dist":
            p_of = logprobs.exp()
        results.append(listed(scores, p_of, token if drawn else -1, order, whole=not cut))
        before = scores
    return results


def sampled(
    batch: Batch, requests: list[Request], rows: NDArray[np.float32]
) -> list[tuple[int, list[Result]]]:
    """Return the token of each request, and the results of its stages."""
    logits = vllm().torch.tensor(rows)
    shown = batch.shown(logits.clone())
    tokens, logprobs = batch.sample(logits.clone())
    return [
        (
            tokens[at],
            results_of(request, logits[at], shown, at, tokens[at], logprobs[at]),
        )
        for at, request in enumerate(requests)
    ]


class Serving(launches.Serving):
    """The request `batch`: the sequences that sample in a step are vLLM's batch of that step."""

    def __init__(self, worker: Any, scratch: Scratch, request: p.BatchRequest) -> None:
        super().__init__(worker, scratch, request)
        self.batch = Batch(request.n_vocab, 128)

    def request_of(self, sequence: p.BatchSequence) -> Request:
        return Request.of(sequence.chain, sequence.prompt, sequence.output)

    def reset(self, request: Request) -> None:
        request.state = Request.of(request.chain, [], []).state

    def accept(self, request: Request, token: int) -> None:
        request.accept(token)

    def sampled(
        self, requests: list[Request], rows: NDArray[np.float32], stages: bool
    ) -> list[tuple[int, list[Result]]]:
        self.batch.hold(requests)
        results = sampled(self.batch, requests, rows)
        return results if stages else [(token, []) for token, _ in results]
