"""rwkv: the package's `PIPELINE.generate` and `sample_logits`, with torch on the CPU.

rwkv_sample_logits is sample_logits on the row; p is its argument to np.random.choice, for which an
instance has a generator of its own. rwkv_penalties records the logits that generate passes to
sample_logits. For this, generate runs on a model that answers every token with the row and is made
to choose the generated tokens. The text of a token is a letter, of a `weightless` one a space.
Without vector instructions torch's softmax is the same on every CPU. See engines/rwkv/README.md.
"""

import importlib
import os
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import torch_cpu
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

SAMPLERS = ["rwkv_penalties", "rwkv_sample_logits"]


@cache
def libraries() -> tuple[Any, Any]:
    """Import torch and rwkv.utils. Raises Unsupported if they are not installed."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    try:
        torch, utils = importlib.import_module("torch"), importlib.import_module("rwkv.utils")
    except ImportError as error:
        raise Unsupported(f"rwkv or torch is not installed: {error}") from None
    torch.set_num_threads(1)
    return torch, utils


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = libraries()[0].tensor(logits)
        self.p = np.zeros(len(logits), np.float32)
        self.token = -1


class Tokens:
    """Every token is a letter, those of `weightless` are a space; a prompt is one token."""

    def __init__(self, weightless: list[int]) -> None:
        self.weightless = set(weightless)

    def encode(self, text: str) -> list[int]:
        return [0]

    def decode(self, tokens: list[int]) -> str:
        return "".join(" " if token in self.weightless else "x" for token in tokens)


class Model:
    """Answers every token with the same row."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def forward(self, tokens: list[int], state: Any) -> tuple[Any, Any]:
        return self.logits.clone(), state


class Stage:
    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        if name not in SAMPLERS:
            raise Unsupported(f"rwkv has no {name} by itself")
        self.name = name
        self.parameters = {key: value for key, value in parameters.items() if key != "seed"}
        self.seed = parameters.get("seed", 0)
        self.reset()

    def reset(self) -> None:
        self.rng = np.random.RandomState(self.seed)

    def apply(self, row: Row, tokens: list[int], n_prompt: int) -> None:
        if self.name == "rwkv_penalties":  # generate does not count its prompt
            row.logits = self.penalized(row.logits, tokens[n_prompt:])
        else:
            row.token = self.sample(row)

    def draws(self, row: Row, n: int) -> list[int]:
        return [self.sample(row) for _ in range(n)]

    def draw_as(self, other: "Stage") -> None:
        self.rng.set_state(other.rng.get_state())

    def sample(self, row: Row) -> int:
        """Draw with sample_logits, which may write into its row."""
        utils, original = libraries()[1], np.random.choice

        def choice(a: int, p: Any) -> int:
            row.p = p
            return int(self.rng.choice(a=a, p=p))

        pipeline = utils.PIPELINE.__new__(utils.PIPELINE)
        legacy: Any = np.random
        legacy.choice = choice
        try:
            return int(pipeline.sample_logits(row.logits.clone(), **self.parameters))
        finally:
            legacy.choice = original

    def penalized(self, logits: Any, output: list[int]) -> Any:
        utils = libraries()[1]
        arguments = {key: value for key, value in self.parameters.items() if key != "weightless"}
        pipeline = utils.PIPELINE.__new__(utils.PIPELINE)
        pipeline.model = Model(logits)
        pipeline.tokenizer = Tokens(self.parameters.get("weightless", []))
        handed: list[Any] = []

        def sample_logits(scores: Any, **_: Any) -> int:
            handed.append(scores)
            return output[len(handed) - 1] if len(handed) <= len(output) else 0

        pipeline.sample_logits = sample_logits
        pipeline.generate("", len(output) + 1, utils.PIPELINE_ARGS(**arguments))
        return handed[-1]


class Worker:
    def hello(self) -> HelloReply:
        torch, _ = libraries()
        return HelloReply(
            name="rwkv",
            version=f"rwkv {version('rwkv')}, torch {torch.__version__}, numpy {np.__version__}",
            capabilities=["run", "draws", "time", "origin"],
            samplers=SAMPLERS,
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Staged:
        return Staged(chain, Stage, "rwkv", (ValueError, IndexError, OverflowError))

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        return np.arange(len(row.p)), row.logits.numpy(), row.p, None, row.token
