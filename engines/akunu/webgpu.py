"""akunu/webgpu: the Gumbel-max path as a WGSL compute shader, on the device of engines/webgpu."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu import gumbel
from sampler_parity.engines.akunu.cpu import Row, check, only_stage
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.webgpu.device import AT_ONCE, Device, Edit, Shaders, Task
from sampler_parity.harness.protocol.arithmetic import Arithmetic
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
def device(edit: Edit | None = None) -> Device:
    return Device(replace(SHADERS, edit=edit))


class Instance(gumbel.Instance):
    def __init__(self, parameters: dict[str, Any], on: Device) -> None:
        self.on = on
        super().__init__(parameters)

    def _sample(self, row: Row) -> None:
        check(row.logits)
        rows = self.on.rows(row.logits[None])
        rows.run("akunu_gumbel", [self.task(row.logits.size)])
        if rows.states["refused"].any():
            raise UndefinedInputError("a probability is NaN")
        after = rows.read(0)
        row.logits, row.selected = after.logits, after.selected

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Draw at n positions, many of them together."""
        no_uniforms(uniforms, "akunu/webgpu")
        tokens, together = np.empty(n, np.int32), max(1, AT_ONCE // max(4, row.logits.size))
        for first in range(0, n, together):
            tasks: list[Task] = []
            for i in range(min(together, n - first)):
                tasks.append(replace(self.task(row.logits.size), row=i))
                self.sampled += 1
            rows = self.on.rows(np.tile(row.logits, (len(tasks), 1)))
            rows.run("akunu_gumbel", tasks)
            tokens[first : first + together] = rows.states["selected"]
        return tokens

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
    edit: Edit | None = None  # of a fault

    def hello(self) -> HelloReply:
        on = device(self.edit)
        stated = Arithmetic(summation="unknown", exp_ulps=2)
        changed = {"device": on.summary, "build": on.build, "arithmetic": stated}
        return super().hello().model_copy(update=changed)

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Any:
        return Instance(only_stage(chain, "akunu_gumbel"), device(self.edit))
