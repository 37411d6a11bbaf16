"""akunu/webgpu: the Gumbel-max path as a WGSL compute shader, on the device of engines/webgpu."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.engines.akunu import gumbel
from sampler_parity.engines.akunu.cpu import Row, check, only_stage
from sampler_parity.engines.webgpu.device import Device, Shaders, Task
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import UndefinedInputError

SHADERS = Shaders(
    {
        "akunu_gumbel": ["softmax", "order", "search", "first_largest", "gumbel_noise"],
        "noise": ["gumbel_noise"],
    },
    Path(__file__).parent / "shaders",
)


@cache
def device() -> Device:
    return Device(SHADERS)


class Instance(gumbel.Instance):
    def _sample(self, row: Row) -> None:
        check(row.logits)
        rows = device().rows(row.logits[None])
        rows.run("akunu_gumbel", [self.task(row.logits.size)])
        if rows.states["refused"].any():
            raise UndefinedInputError("a probability is NaN")
        after = rows.read(0)
        row.logits, row.selected = after.logits, after.selected

    def task(self, n: int) -> Task:
        """Return what the shader takes, for a vocabulary of n tokens."""
        of = {name: np.float32(self.parameters[name]) for name in NUMBERS}
        k = int(self.parameters["top_k"])
        occurred = Counter(token for token in self.history if 0 <= token < n)
        penalized = occurred.items() if of["repeat_penalty"] != 1 else ()
        return Task(
            row=0,
            k=k if 0 < k < n else min(256, n),
            least=self.seed(),
            a=float(of["temperature"]),
            b=float(np.float32(1) / of["temperature"]),
            c=float(of["repeat_penalty"]),
            table=[
                (of["min_p"].view(np.int32), of["top_p"].view(np.int32)),
                (self.parameters["noise"] == "f16", 0),
                *penalized,
            ],
        )


NUMBERS = ("temperature", "repeat_penalty", "min_p", "top_p")


class Worker(gumbel.Worker):
    name = "akunu/webgpu"

    def hello(self) -> HelloReply:
        on = device()
        return super().hello().model_copy(update={"device": on.summary, "build": on.build})

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Any:
        return Instance(only_stage(chain, "akunu_gumbel"))
