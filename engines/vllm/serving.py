"""Results of the requests in vLLM's batch, stage by stage, and the request `batch`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.masked import listed
from sampler_parity.engines.vllm import requests as slots
from sampler_parity.engines.vllm.batch import Batch
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.requests import Request
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import write
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
    batch: Batch, requests: list[Request], rows: list[NDArray[np.float32]]
) -> list[tuple[int, list[Result]]]:
    """Return the token of each request, and the results of its stages."""
    logits = vllm().torch.tensor(np.stack(rows))
    shown = batch.shown(logits.clone())
    tokens, logprobs = batch.sample(logits.clone())
    return [
        (
            tokens[at],
            results_of(request, logits[at], shown, at, tokens[at], logprobs[at]),
        )
        for at, request in enumerate(requests)
    ]


class Serving:
    """The request `batch`: the sequences that sample in a step are vLLM's batch of that step."""

    def __init__(self, _worker: Any, scratch: Scratch, request: p.BatchRequest) -> None:
        self.scratch, self.asked, self.at = scratch, request, request.out
        rows = scratch.view(request.rows.at, request.rows.count * request.rows.n, np.float32)
        self.rows: NDArray[np.float32] = rows.reshape(request.rows.count, request.rows.n)
        self.live: Live[Request] = Live(self.join, Request.copy, self.reset)
        self.batch = Batch(request.n_vocab, 128)

    def join(self, number: int) -> Request:
        sequence = self.asked.sequences[number]
        return Request.of(sequence.chain, sequence.prompt, sequence.output)

    def reset(self, request: Request) -> None:
        request.state = Request.of(request.chain, [], []).state

    def answer(self) -> p.BatchReply:
        tokens, stages = [], []
        for step in self.asked.steps:
            self.live.do(step.before)
            selected, results = self.step(step.sample)
            tokens.append(selected)
            stages.append(results)
        return p.BatchReply(tokens=tokens, stages=stages, ns=0)

    def step(
        self, wanted: list[p.BatchSample]
    ) -> tuple[list[int | None], list[list[p.StageResult]]]:
        requests = [self.live.rows[one.at] for one in wanted]
        rows = [self.rows[one.row] for one in wanted]
        if not wanted:
            return [], []
        self.batch.hold(requests)
        tokens: list[int | None] = []
        stages: list[list[p.StageResult]] = []
        results = sampled(self.batch, requests, rows)
        for one, request, (token, of_stages) in zip(wanted, requests, results, strict=True):
            selected = token if slots.SELECT in request.slots else None
            tokens.append(selected)
            stages.append(self.written(of_stages) if self.asked.detail == "stages" else [])
            accepted = selected if one.accept == "selected" else one.accept
            if accepted is not None:
                request.accept(accepted)
        return tokens, stages

    def written(self, results: list[Result]) -> list[p.StageResult]:
        shown = []
        for result in results:
            stage, self.at = write(self.scratch, self.at, result)
            shown.append(stage)
        return shown
