"""The logits after each stage of requests that sample in one launch.

A stage shows the logits of a launch in which every request has the stages of its chain up to it.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.masked import listed
from sampler_parity.engines.vllm_gpu import requests as slots
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.runner import Runner
from sampler_parity.harness.protocol.interface import Result

_CUTS = ("top_k", "top_p", "min_p")


@dataclass(frozen=True)
class Launched:
    """What a launch left, by request: logits [n, n_vocab], tokens (-1 without a draw), and the
    logprobs [n, n_vocab] of the logits, if a stage shows them."""

    logits: Any
    tokens: list[int]
    logprobs: Any = None


def sampled(
    engine: SimpleNamespace, requests: list[Request], rows: NDArray[np.float32]
) -> list[tuple[int, list[Result]]]:
    """Return the token of each request, and the results of its stages."""
    longest = max(len(request.chain) for request in requests)
    last = launch(engine, requests, rows, longest, draws=True)
    stages = [
        last if all(done(request, n) for request in requests) else launch(engine, requests, rows, n)
        for n in range(1, longest)
    ]
    launches = [*stages, last]
    return [
        (last.tokens[place], results_of(request, rows[place], launches, place))
        for place, request in enumerate(requests)
    ]


def done(request: Request, stage: int) -> bool:
    """Return whether no stage behind this one, counted from 1, changes logits."""
    return all(slot >= slots.SELECT for slot in request.slots[stage:])


def launch(
    engine: SimpleNamespace,
    requests: list[Request],
    rows: NDArray[np.float32],
    stage: int,
    draws: bool = False,
) -> Launched:
    """Launch the requests with their stages up to this one, counted from 1."""
    room = max(len(request.past.text) for request in requests)
    runner = Runner(engine, rows.shape[1], len(requests), room)
    params = [request.params[min(stage, len(request.chain))] for request in requests]
    context = runner.add(params, [request.past for request in requests])
    if not draws:
        return Launched(runner.processed(context, runner.padded(rows)), [-1] * len(requests))
    tokens, logits = runner.sample(context, runner.padded(rows))
    asked = any(slots.LOGPROBS in one.slots or "dist" in one.names for one in requests)
    return Launched(logits, tokens, runner.logprobs(logits) if asked else None)


def results_of(
    request: Request, row: NDArray[np.float32], launches: list[Launched], place: int
) -> list[Result]:
    """Return the results of the stages of a request. row: its logits. place: its place."""
    torch, before = launches[-1].logits.new_tensor, row
    greedy = request.params[-1].temperature == 0
    cut, drawn, order = False, False, None
    p_of: Any = np.zeros_like(row)
    results: list[Result] = []
    for name, slot, of in zip(request.names, request.slots, launches, strict=False):
        scores = of.logits[place].numpy()
        cut = cut or name in _CUTS
        if name in ("top_k", "top_p"):
            order = -before
        if name == "top_p":
            p_of = torch(before).softmax(-1).numpy()
        drawn = drawn or slot == slots.SELECT or (slot == slots.TEMPERATURE and greedy)
        if slot == slots.LOGPROBS or name == "dist":
            p_of = launches[-1].logprobs[place].exp().numpy()
        token = launches[-1].tokens[place] if drawn else -1
        results.append(listed(scores, p_of, token, order, whole=not cut))
        before = scores
    return results
