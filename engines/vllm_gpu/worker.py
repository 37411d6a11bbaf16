"""vllm_gpu: the sampler of vLLM's second model runner, its Triton kernels in the interpreter
(engines/vllm_gpu/README.md).

Readings: a stage shows the logits of a request with the parameters of the chain up to it, all of
them, banned ones as -inf. Behind a cut under llama.cpp's name the banned are left out. The p shown
is 0 except that of the logprobs. A greedy temperature selects at its stage.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.masked import listed
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.triton_files import Edit
from sampler_parity.engines.vllm_gpu.edits import ON_GPU
from sampler_parity.engines.vllm_gpu.package import vllm_gpu
from sampler_parity.engines.vllm_gpu.requests import SLOTS, Request
from sampler_parity.engines.vllm_gpu.rounds import speculate
from sampler_parity.engines.vllm_gpu.runner import Runner
from sampler_parity.engines.vllm_gpu.serving import Serving
from sampler_parity.engines.vllm_gpu.shown import launch, sampled
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.interface import Result, Rounds

# numpy's exp and log of float32; sums in blocks, as the interpreter's tl.sum.
ARITHMETIC = Arithmetic(exp_ulps=4.0)
ROWS_OF_DRAWS = 512


@dataclass
class Row:
    """results: after each stage, once the chain was applied; at: the stage that is shown."""

    logits: NDArray[np.float32]
    results: list[Result] = field(default_factory=list)
    at: int = 0
    token: int = -1


class Instance:
    """One request, alone in a launch."""

    def __init__(self, engine: SimpleNamespace, request: Request, n_vocab: int) -> None:
        self.engine, self.request, self.n_vocab = engine, request, n_vocab

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None:
            last = launch(
                self.engine, [self.request], row.logits[None], len(self.request.chain), True
            )
            row.token = last.tokens[0] if self.request.selects else -1
        elif stage == 0:
            row.results = sampled(self.engine, [self.request], row.logits[None])[0][1]
        if stage is not None:
            row.at = stage

    def accept(self, token: int) -> None:
        self.request.past.output.append(token)

    def accept_prompt(self, token: int) -> None:
        self.request.past.prompt.append(token)

    def reset(self) -> None:
        self.request.past.clear()

    def clone(self) -> "Instance":
        return Instance(self.engine, self.request.copy(), self.n_vocab)

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw n tokens, as n rows of one request at successive positions."""
        no_uniforms(uniforms, "vLLM")
        request, tokens = self.request, np.empty(n, np.int32)
        runner = Runner(self.engine, self.n_vocab, 1, len(request.past.text))
        context = runner.add([request.params[-1]], [request.past])
        logits = runner.processed(context, runner.padded(row.logits[None]))
        for first in range(0, n, ROWS_OF_DRAWS):
            last = min(first + ROWS_OF_DRAWS, n)
            tokens[first:last] = runner.draws(context, logits, first, last)
        return tokens


class Worker:
    """edits: of the text of vLLM's files (edits.py)."""

    name = "vllm_gpu"
    edits: tuple[Edit, ...] = ON_GPU
    serving: type[Serving] = Serving

    @property
    def engine(self) -> SimpleNamespace:
        return vllm_gpu(self.edits)

    def hello(self) -> p.HelloReply:
        return p.HelloReply(
            name=self.name,
            version=self.engine.version,
            capabilities=["run", "draws", "time", "origin", "speculative"],
            samplers=list(SLOTS),
            arithmetic=ARITHMETIC,
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(self.engine, Request.of(chain, [], []), n_vocab)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        if row.results:
            return row.results[row.at]
        return listed(row.logits, np.zeros_like(row.logits), row.token, whole=True)

    def speculate(self, request: p.SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        return speculate(self.engine, request, rounds)
