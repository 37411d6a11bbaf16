"""vllm: the sampler of vLLM on a CPU, with its own batch of requests (engines/vllm/README.md).

Readings: banned and cut tokens are -inf and stay listed after stages under vLLM's own names. After
a cut under llama.cpp's name they are removed, and after top_k and top_p the largest comes first.
The p shown is 0 except that of the logprobs that vLLM returns, and before a cut by top_p. A greedy
temperature selects at its stage.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import reported, torch_cpu
from sampler_parity.engines.shared.launches import Row, RowWorker
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.vllm import requests as slots
from sampler_parity.engines.vllm.batch import Batch
from sampler_parity.engines.vllm.engine import vllm
from sampler_parity.engines.vllm.reporting import MODES, Logprobs
from sampler_parity.engines.vllm.requests import SLOTS, Request
from sampler_parity.engines.vllm.serving import Serving, sampled
from sampler_parity.harness.protocol import messages as p


class Instance:
    """One request, alone in a batch. logprobs: those that it asks for."""

    def __init__(self, request: Request, n_vocab: int, logprobs: Logprobs | None = None) -> None:
        self.request, self.n_vocab, self.logprobs = request, n_vocab, logprobs
        self.batch = Batch(n_vocab, 1)

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None:
            self.batch.hold([self.request])
            tokens = self.batch.tokens(vllm().torch.tensor(row.logits)[None])
            row.token = tokens[0] if self.request.selects else -1
        elif stage == 0 and self.logprobs is not None:
            self.logprobs.report(self.batch, self.request, row)
        elif stage == 0:
            self.batch.hold([self.request])
            row.results = sampled(self.batch, [self.request], row.logits[None])[0][1]
        if stage is not None:
            row.at = stage

    def accept(self, token: int) -> None:
        self.request.accept(token)

    def accept_prompt(self, token: int) -> None:
        self.request.accept_prompt(token)

    def reset(self) -> None:
        self.request = Request.of(self.request.chain, [], [])

    def clone(self) -> "Instance":
        return Instance(self.request.copy(), self.n_vocab, self.logprobs)

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw n tokens: the stages before the draw run once."""
        no_uniforms(uniforms, "vLLM")
        self.batch.hold([self.request])
        logits = self.batch.shown(vllm().torch.tensor(row.logits)[None])[slots.SELECT]
        draw, generators = self.batch.sampler.topk_topp_sampler, self.batch.input.generators
        tokens = (int(draw(logits, generators, None, None)[0]) for _ in range(n))
        return np.fromiter(tokens, np.int32, n)


class Worker(RowWorker):
    serving: type[Serving] = Serving

    def hello(self) -> p.HelloReply:
        return p.HelloReply(
            name="vllm",
            version=vllm().version,
            capabilities=["run", "draws", "time", "origin"],
            samplers=[*SLOTS, *reported.stages(MODES)],
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        chain, mode, top = reported.parted(chain)
        logprobs = Logprobs(mode, top) if mode else None
        return Instance(Request.of(chain, [], []), n_vocab, logprobs)
