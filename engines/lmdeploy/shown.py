"""The results of requests that sample in one launch.

A stage shows the result of a launch in which every request has the stages of its chain up to it.
"""

from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.lmdeploy import requests as slots
from sampler_parity.engines.lmdeploy.requests import SLOTS, Request
from sampler_parity.engines.shared.masked import listed
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.interface import Result

Rows = NDArray[np.float32]
PADDING = 3  # columns of NaN behind a row, as of a vocabulary that is padded


@dataclass(frozen=True)
class Launched:
    """By request: logits before the filters, scores behind them with -inf where a token is removed,
    weights of the draw, all [n, n_vocab] by id, and tokens."""

    logits: Rows
    scores: Rows
    weights: Rows
    tokens: NDArray[np.int32]


def launch(engine: SimpleNamespace, sequences: Sequence[Any], rows: Rows) -> Launched:
    """Sample sequences in one batch."""
    torch, n = engine.torch, rows.shape[1]
    wide = torch.full((len(rows), n + PADDING), float("nan"))
    wide[:, :n] = torch.tensor(rows)
    with refused():
        inputs = engine.strategy.make_sampling_inputs(list(sequences)).to_device("cpu")
        processor = engine.FusedLogitsProcessor(inputs)
        logits, _ = finished(processor(wide[:, :n]))
        tokens = processor.sampling(logits).view(-1)
    scores = torch.full_like(logits, -float("inf"))
    weights = torch.zeros_like(logits)
    if shown := getattr(processor, "shown", None):
        kept, ids, p = shown
        scores.scatter_(1, ids, kept)
        weights.scatter_(1, ids, p)
    else:  # greedy requests alone
        at = tokens[:, None]
        scores.scatter_(1, at, logits.gather(1, at))
        weights.scatter_(1, at, 1.0)
    arrays = (logits.numpy(), scores.numpy(), weights.numpy())
    return Launched(*arrays, tokens.numpy().astype(np.int32))


def sampled(
    engine: SimpleNamespace, requests: list[Request], rows: Rows, stages: bool = True
) -> list[tuple[int, list[Result]]]:
    """Return the token of each request, and the results of its stages."""
    longest = max(len(request.chain) for request in requests)
    launches = [
        launch(engine, [request.sequence(n) for request in requests], rows)
        for n in range(1 if stages else longest, longest + 1)
    ]
    return [
        (
            int(launches[-1].tokens[place]),
            results_of(request, rows[place], launches, place) if stages else [],
        )
        for place, request in enumerate(requests)
    ]


def results_of(request: Request, row: Rows, launches: list[Launched], place: int) -> list[Result]:
    """Return the results of the stages of a request. row: its logits. place: its place."""
    before, none = row, np.zeros_like(row)
    cut, order = False, None
    results: list[Result] = []
    for name, of in zip(request.names, launches, strict=False):
        slot, scores, p, token = SLOTS[name], of.logits[place], none, -1
        if slots.TOP_K <= slot < slots.SELECT:
            cut, scores = True, of.scores[place]
            order = -before if slot < slots.MIN_P else order
            p = softmax(before) if slot == slots.TOP_P else none
        elif slot == slots.SELECT:
            token, scores = int(of.tokens[place]), before
            p = none if name == "greedy" else of.weights[place]
        results.append(listed(scores, p, token, order, whole=not cut))
        before = scores
    return results


def softmax(logits: Rows) -> Rows:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


@contextmanager
def refused() -> Iterator[None]:
    """Turn torch's errors into those of an input, and silence numpy below the interpreter."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (RuntimeError, ValueError, AssertionError, IndexError) as error:
        raise InputError("lmdeploy", (str(error).splitlines() or [""])[0]) from None
