"""mlx_lm: MLX LM's logits processors and samplers, with MLX on the CPU.

mlx_penalties and mlx_sampler are what make_logits_processors and make_sampler make of the same
parameters; they list the whole vocabulary, as do the log-probabilities that are drawn from. Under
llama.cpp's names each stage is one of their parts: a filter is make_sampler with that filter alone,
called on log-probabilities as generate_step calls it. docs/engines/mlx_lm.md has the mapping.

Readings: a filter's -inf is a removed candidate. A mask has no order: behind top_k, top_p and xtc
the largest come first, equal ones by id, else by id. An instance has its own generator, which the
one of the process becomes while it draws. mx.compile is off: it changes no bit, and compiles a C++
file for each new temperature.
"""

import importlib
import importlib.util
import secrets
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.mlx_lm.arguments import (
    OWN,
    SAMPLERS,
    processors_of,
    sampler_of,
)
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

SORTED = ("top_k", "top_p", "xtc")


@cache
def libraries() -> tuple[Any, Any]:
    """mlx.core and mlx_lm.sample_utils, without the rest of mlx_lm, which loads transformers."""
    found = importlib.util.find_spec("mlx_lm")
    if found is None:
        raise Unsupported("mlx_lm is not installed")
    package = ModuleType("mlx_lm")
    package.__path__ = list(found.submodule_search_locations or [])
    sys.modules.setdefault("mlx_lm", package)
    mx = importlib.import_module("mlx.core")
    mx.disable_compile()
    return mx, importlib.import_module("mlx_lm.sample_utils")


class Row:
    """scores: [1, n_vocab]; p: the same. order: what the candidates are listed by, ascending; None:
    by id. whole: banned tokens are listed, too."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        mx, _ = libraries()
        self.scores = mx.array(logits)[None]
        self.p = mx.zeros_like(self.scores)
        self.order: Any = None
        self.token = -1
        self.whole = False


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
        self.seed = secrets.randbits(64) if seed == 0xFFFFFFFF else seed

    def apply(self, row: Row, history: list[int]) -> None:
        mx, _ = libraries()
        row.whole = row.whole or self.name in OWN
        before = row.scores
        for processor in self.processors:
            row.scores = processor(mx.array(history), mx.array(row.scores))
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
        """n tokens of the same scores; those of mlx_sampler become what the last was drawn from."""
        mx, mlx = libraries()
        if self.name == "greedy":
            return [int(mlx.greedy_sampler(row.scores).item())] * n
        mx.random.seed(self.seed)
        if self.name == "dist":
            tokens = drawn(lambda: mlx.categorical_sampling(row.scores, 1.0), n)
        else:
            logits = row.scores
            with Seen(mlx, draw=True) as seen:
                tokens = drawn(lambda: self.sampler(log_probs(logits)), n)
            row.scores = log_probs(logits) if seen.scores is None else seen.scores
        self.keep_key()
        return tokens

    def masked(self, scores: Any) -> Any:
        """What the sampler's filter leaves of log-probabilities, without a draw."""
        mx, mlx = libraries()
        mx.random.seed(self.seed)
        with Seen(mlx, draw=False) as seen:
            self.sampler(scores)
        mx.eval(seen.scores)
        self.keep_key()
        return seen.scores

    def keep_key(self) -> None:
        high, low = np.array(libraries()[0].random.state[0]).tolist()
        self.seed = high << 32 | low


class Seen:
    """What make_sampler's filters hand to the draw, which is the last that it calls."""

    def __init__(self, mlx: Any, draw: bool) -> None:
        self.mlx, self.original, self.draw = mlx, mlx.categorical_sampling, draw
        self.scores: Any = None

    def __call__(self, scores: Any, temp: float) -> Any:
        self.scores = scores
        return self.original(scores, temp) if self.draw else None

    def __enter__(self) -> "Seen":
        self.mlx.categorical_sampling = self
        return self

    def __exit__(self, *problem: object) -> None:
        self.mlx.categorical_sampling = self.original


def drawn(draw: Callable[[], Any], n: int) -> list[int]:
    """n tokens one after the other, of which 256 wait to be computed together."""
    tokens: list[int] = []
    while len(tokens) < n:
        waiting = [draw() for _ in range(min(256, n - len(tokens)))]
        tokens += np.array(libraries()[0].concatenate(waiting)).tolist()
    return tokens


def log_probs(scores: Any) -> Any:
    """As generate_step makes them of logits."""
    return scores - libraries()[0].logsumexp(scores, axis=-1, keepdims=True)


class Instance:
    def __init__(self, chain: ChainSpec) -> None:
        self.chain = chain
        self.history: list[int] = []
        try:
            self.stages = [Stage(name, of) for stage in chain for name, of in stage.items()]
        except ValueError as error:
            raise InputError("MLX LM", str(error)) from None

    def apply(self, stage: int | None, row: Row) -> None:
        try:
            for chosen in self.stages if stage is None else [self.stages[stage]]:
                chosen.apply(row, self.history)
        except ValueError as error:
            raise InputError("MLX LM", str(error)) from None

    def accept(self, token: int) -> None:
        self.history.append(token)

    def reset(self) -> None:
        self.history.clear()
        for stage in self.stages:
            stage.reset()

    def clone(self) -> "Instance":
        twin = Instance(self.chain)
        twin.history = list(self.history)
        for stage, other in zip(self.stages, twin.stages, strict=True):
            other.seed = stage.seed
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        if uniforms is not None:
            raise Unsupported("MLX takes no uniforms")
        *filters, last = self.stages
        for stage in filters:
            stage.apply(row, self.history)
        return np.array(last.draws(row, n), np.int32)


class Worker:
    def hello(self) -> HelloReply:
        mx, _ = libraries()
        version = importlib.import_module("mlx_lm._version").__version__
        return HelloReply(
            name="mlx_lm",
            version=f"mlx_lm {version}, mlx {mx.__version__}, {mx.default_device()}",
            capabilities=["run", "draws", "time"],
            samplers=[*SAMPLERS, *OWN],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        scores, p = np.array(row.scores[0]), np.array(row.p[0])
        ids = np.arange(len(scores)) if row.whole else np.flatnonzero(scores != -np.inf)
        if row.order is not None and not row.whole:
            ids = ids[np.array(row.order[0])[ids].argsort(kind="stable")]
        at = np.flatnonzero(ids == row.token)
        return ids, scores[ids], p[ids], None, int(at[0]) if len(at) else -1
