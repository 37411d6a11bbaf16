"""vllm: the sampler of vLLM on a CPU, with its own batch of requests (docs/engines/vllm.md).

Readings: what vLLM bans or cuts is -inf and stays listed behind stages under its own names; behind
a cut under llama.cpp's name it is removed, and the largest comes first behind top_k and top_p. p is
0 but for that of the logprobs that vLLM returns, and before a cut by top_p. A temperature that is
greedy has selected at its stage.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.masked import listed
from sampler_parity.harness.backends.vllm import requests as slots
from sampler_parity.harness.backends.vllm.batch import Batch
from sampler_parity.harness.backends.vllm.engine import vllm
from sampler_parity.harness.backends.vllm.requests import SLOTS, Request
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.sampling import write
from sampler_parity.harness.protocol.scratch import Scratch

_CUTS = ("top_k", "top_p", "min_p")


@dataclass
class Row:
    """results: after each stage, once the chain was applied; at: the stage that is shown."""

    logits: NDArray[np.float32]
    results: list[Result] = field(default_factory=list)
    at: int = 0
    token: int = -1


def results_of(
    request: Request, before: Any, shown: dict[int, Any], place: int, token: int, logprobs: Any
) -> list[Result]:
    """What each stage of a request leaves. before: its row of logits."""
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


class Instance:
    """One request, alone in a batch."""

    def __init__(self, request: Request, n_vocab: int) -> None:
        self.request, self.n_vocab = request, n_vocab
        self.batch = Batch(n_vocab, 1)
        self.selects = slots.SELECT in request.slots

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None:
            self.batch.hold([self.request])
            tokens = self.batch.tokens(vllm().torch.tensor(row.logits)[None])
            row.token = tokens[0] if self.selects else -1
        elif stage == 0:
            self.batch.hold([self.request])
            row.results = sampled(self.batch, [self.request], [row.logits])[0][1]
        if stage is not None:
            row.at = stage

    def accept(self, token: int) -> None:
        self.request.accept(token)

    def accept_prompt(self, token: int) -> None:
        self.request.accept_prompt(token)

    def reset(self) -> None:
        self.request = Request.of(self.request.chain, [], [])

    def clone(self) -> "Instance":
        return Instance(self.request.copy(), self.n_vocab)

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """n tokens: what comes before the draw is done once."""
        if uniforms is not None:
            raise Unsupported("vLLM takes no uniforms")
        self.batch.hold([self.request])
        logits = self.batch.shown(vllm().torch.tensor(row.logits)[None])[slots.SELECT]
        draw, generators = self.batch.sampler.topk_topp_sampler, self.batch.input.generators
        tokens = (int(draw(logits, generators, None, None)[0]) for _ in range(n))
        return np.fromiter(tokens, np.int32, n)


def sampled(
    batch: Batch, requests: list[Request], rows: list[NDArray[np.float32]]
) -> list[tuple[int, list[Result]]]:
    """Of each request its token, and what its stages left."""
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
    """The request `batch`: those that sample are vLLM's batch of that step."""

    def __init__(self, worker: "Worker", scratch: Scratch, request: p.BatchRequest) -> None:
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

    def step(self, wanted: list[p.Sampled]) -> tuple[list[int | None], list[list[p.StageResult]]]:
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


class Worker:
    serving: type[Serving] = Serving

    def hello(self) -> p.HelloReply:
        return p.HelloReply(
            name="vllm",
            version=vllm().version,
            capabilities=["run", "draws", "time", "origin"],
            samplers=list(SLOTS),
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(Request.of(chain, [], []), n_vocab)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        if row.results:
            return row.results[row.at]
        ids = np.arange(len(row.logits))
        return ids, row.logits, np.zeros_like(row.logits), None, row.token
