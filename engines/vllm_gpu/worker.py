"""vllm_gpu: the sampler of vLLM's second model runner, its Triton kernels in the interpreter
(engines/vllm_gpu/README.md).

Readings: a stage shows the logits of a request with the parameters of the chain up to it, all of
them, banned ones as -inf. Behind a cut under llama.cpp's name the banned are left out. The p shown
is 0 except that of the logprobs. A greedy temperature selects at its stage. vllm_gpu_sample draws
at the position of the last token, so a repeated draw is the same. A repeated draw of dist without
a token between is at the next position.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import reported
from sampler_parity.engines.shared.launches import Row, RowWorker
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.triton_files import Edit
from sampler_parity.engines.vllm.reporting import MODES
from sampler_parity.engines.vllm_gpu.edits import ON_GPU
from sampler_parity.engines.vllm_gpu.package import vllm_gpu
from sampler_parity.engines.vllm_gpu.reporting import Logprobs
from sampler_parity.engines.vllm_gpu.requests import SLOTS, Request
from sampler_parity.engines.vllm_gpu.rounds import speculate
from sampler_parity.engines.vllm_gpu.runner import Context, Runner
from sampler_parity.engines.vllm_gpu.serving import Serving
from sampler_parity.engines.vllm_gpu.shown import launch, sampled
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.interface import Rounds

# numpy's exp and log of float32; sums in blocks, as the interpreter's tl.sum.
ARITHMETIC = Arithmetic(exp_ulps=4.0)
ROWS_OF_DRAWS = 512
Processed = tuple[Runner, Context, Any]


class Instance:
    """One request, alone in a launch. ahead: positions of draws behind the last token. logprobs:
    those that it asks for."""

    def __init__(
        self,
        engine: SimpleNamespace,
        request: Request,
        n_vocab: int,
        logprobs: Logprobs | None = None,
    ) -> None:
        self.engine, self.request, self.n_vocab = engine, request, n_vocab
        self.logprobs = logprobs
        self.ahead = 0
        self.last: tuple[bytes, Processed] | None = None

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None and {"dist", "greedy"} & set(self.request.names):
            row.token = int(self.draw(row, 1, None)[0])
        elif stage is None:
            last = launch(
                self.engine, [self.request], row.logits[None], len(self.request.chain), True
            )
            row.token = last.tokens[0] if self.request.selects else -1
        elif stage == 0 and self.logprobs is not None:
            self.logprobs.report(self.engine, self.request, row)
        elif stage == 0:
            row.results = sampled(self.engine, [self.request], row.logits[None])[0][1]
        if stage is not None:
            row.at = stage

    def accept(self, token: int) -> None:
        self.request.past.output.append(token)
        self.ahead, self.last = max(self.ahead - 1, 0), None

    def accept_prompt(self, token: int) -> None:
        self.request.past.prompt.append(token)
        self.last = None

    def reset(self) -> None:
        self.request.past.clear()
        self.ahead, self.last = 0, None

    def clone(self) -> "Instance":
        twin = Instance(self.engine, self.request.copy(), self.n_vocab, self.logprobs)
        twin.ahead = self.ahead
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw n tokens, as n rows of one request at successive positions."""
        no_uniforms(uniforms, "vLLM")
        runner, context, logits = self.processed(row.logits)
        tokens = np.empty(n, np.int32)
        for first in range(0, n, ROWS_OF_DRAWS):
            last = min(first + ROWS_OF_DRAWS, n)
            tokens[first:last] = runner.draws(
                context, logits, self.ahead + first, self.ahead + last
            )
        self.ahead += n
        return tokens

    def processed(self, row: NDArray[np.float32]) -> Processed:
        """Return the logits after the stages before the draw. They depend on the row, the past and
        the parameters alone, so that the same ones are not launched again."""
        given = row.tobytes()
        if self.last is None or self.last[0] != given:
            request = self.request
            runner = Runner(self.engine, self.n_vocab, 1, len(request.past.text))
            context = runner.add([request.params[-1]], [request.past])
            logits = runner.processed(context, runner.padded(row[None]))
            self.last = given, (runner, context, logits)
        return self.last[1]


class Worker(RowWorker):
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
            samplers=[*SLOTS, *reported.stages(MODES)],
            arithmetic=ARITHMETIC,
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        chain, mode, top = reported.parted(chain)
        logprobs = Logprobs(mode, top) if mode else None
        return Instance(self.engine, Request.of(chain, [], []), n_vocab, logprobs)

    def speculate(self, request: p.SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        return speculate(self.engine, request, rounds)
