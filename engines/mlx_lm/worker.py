"""mlx_lm: MLX LM's logits processors and samplers, with MLX on the CPU.

mlx_penalties and mlx_sampler are made by make_logits_processors and make_sampler from the same
parameters; they list the whole vocabulary, as do the log-probabilities of the draw. Under
llama.cpp's names each stage is one of their parts: a filter is make_sampler with that filter alone,
called on log-probabilities as generate_step calls it. engines/mlx_lm/README.md has the mapping.

Readings: a filter's -inf is a removed candidate. A mask has no order: after top_k, top_p and xtc
the largest come first, equal ones by id, else by id. An instance has its own generator state, which
the process takes over while it draws. mx.compile is off: it changes no bit, and compiles a C++ file
for each new temperature.
"""

import importlib
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.mlx_lm.arguments import (
    OWN,
    SAMPLERS,
    processors_of,
    sampler_of,
)
from sampler_parity.engines.mlx_lm.engine import DrawInput, drawn, libraries, log_probs
from sampler_parity.engines.mlx_lm.reporting import MODES, report
from sampler_parity.engines.mlx_lm.verifier import speculate
from sampler_parity.engines.shared import reported
from sampler_parity.engines.shared.masked import Row
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.engines.shared.verifiers import Pairs
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Result, Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply, SpeculativeRequest

SORTED = ("top_k", "top_p", "xtc")


class Stage:
    """seed: the key of its generator, which draws move on."""

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        if name not in SAMPLERS + OWN:
            raise Unsupported(f"MLX LM has no {name}")
        if name == "temp" and parameters["temp"] == 0:
            raise Unsupported("temperature 0 is another sampler, the greedy one, and no stage")
        self.name, self.parameters = name, parameters
        self.processors: list[Any] = []
        self.sampler: Any = None
        mlx = libraries()[1]
        if name in ("penalties", "logit_bias", "mlx_penalties"):
            self.processors = mlx.make_logits_processors(**processors_of(name, parameters))
        elif name not in ("temp", "dist", "greedy"):
            self.sampler = mlx.make_sampler(**sampler_of(name, parameters))
        self.reset()

    def reset(self) -> None:
        seed = self.parameters.get("seed", 0)
        self.seed = secrets.randbits(64) if seed == ANY_SEED else seed

    def draw_as(self, other: "Stage") -> None:
        self.seed = other.seed

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        mx, _ = libraries()
        row.whole = row.whole or self.name in OWN
        before = row.scores
        for processor in self.processors:
            row.scores = processor(mx.array(tokens), mx.array(row.scores))
        if self.name == "temp":
            row.scores = row.scores * (1.0 / self.parameters["temp"])
        elif self.name in ("dist", "greedy", "mlx_sampler"):
            row.token = self.draws(row, 1)[0]
            row.p = mx.softmax(row.scores, -1) if self.name == "dist" else row.p
        elif self.sampler is not None:
            scores = log_probs(before)
            row.scores = mx.where(self.masked(scores) == -mx.inf, -mx.inf, before)
            if self.name in SORTED and bool((row.scores != before).any()):
                row.order = -before
                row.p = row.p if self.name == "top_k" else mx.softmax(scores, -1)
        mx.eval(row.scores)

    def draws(self, row: Row, n: int) -> list[int]:
        """Draw n tokens of the same scores; mlx_sampler leaves the scores of its last draw."""
        mx, mlx = libraries()
        if self.name == "greedy":
            return [int(mlx.greedy_sampler(row.scores).item())] * n
        mx.random.seed(self.seed)
        if self.name == "dist":
            tokens = drawn(lambda: mlx.categorical_sampling(row.scores, 1.0), n)
        else:
            logits = row.scores
            with DrawInput(mlx, draw=True) as recorded:
                tokens = drawn(lambda: self.sampler(log_probs(logits)), n)
            row.scores = log_probs(logits) if recorded.scores is None else recorded.scores
        self.keep_key()
        return tokens

    def masked(self, scores: Any) -> Any:
        """Apply the sampler's filter to log-probabilities, without a draw."""
        mx, mlx = libraries()
        mx.random.seed(self.seed)
        with DrawInput(mlx, draw=False) as recorded:
            self.sampler(scores)
        mx.eval(recorded.scores)
        self.keep_key()
        return recorded.scores

    def keep_key(self) -> None:
        high, low = np.array(libraries()[0].random.state[0]).tolist()
        self.seed = high << 32 | low


class Worker:
    edits: Pairs = ()  # of the verifier's text

    def hello(self) -> HelloReply:
        mx, _ = libraries()
        version = importlib.import_module("mlx_lm._version").__version__
        return HelloReply(
            name="mlx_lm",
            version=f"mlx_lm {version}, mlx {mx.__version__}, {mx.default_device()}",
            capabilities=["run", "draws", "time", "speculative"],
            samplers=[*SAMPLERS, *OWN, *reported.stages(MODES)],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        chain, mode, top = reported.parted(chain)
        if not mode:
            return Staged(chain, Stage, "MLX LM")
        seed = next((of["dist"]["seed"] for of in chain if "dist" in of), 0)
        return reported.Reporting(
            chain,
            Stage,
            "MLX LM",
            lambda row, tokens: report(chain, row.logits, tokens, seed, top),
        )

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        mx, _ = libraries()
        return Row(mx.array(logits)[None], mx)

    def result(self, row: Row) -> Result:
        return row.result()

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        return speculate(request, rounds, self.edits)
