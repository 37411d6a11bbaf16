"""webgpu: llama.cpp's usual chain as WGSL compute shaders, one for each sampler (shaders/).

A stage runs on the device for all rows that have it, a workgroup for each. Samplers without a
shader run on the host, with the sums of trees.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.pairwise import Pairwise
from sampler_parity.engines.correct.samplers import SAMPLERS, Apply
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.webgpu.device import AT_ONCE, PARTS, Device, Edit, Rows, Shaders
from sampler_parity.engines.webgpu.stages import PLANS, apply_together
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol import sampling
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.sampling import accept

HOST: dict[str, Apply] = {name: apply for name, apply in SAMPLERS.items() if name not in PLANS}


@dataclass(frozen=True)
class Place:
    """One row of candidates on the device."""

    rows: Rows
    row: int = 0


class Instance(worker.Instance):
    """A chain in one state. The reference keeps the state, the device computes."""

    def apply(self, stage: int | None, cand: Any) -> None:
        chain = self.chain.samplers
        for of in chain if stage is None else [chain[stage]]:
            self.apply_to({cand.row: of}, cand.rows)

    @np.errstate(all="ignore")
    def apply_to(self, samplers: dict[int, Any], rows: Rows) -> None:
        on_device = {row: of for row, of in samplers.items() if of.name in PLANS}
        if on_device:
            apply_together(rows, on_device)
        for row, of in samplers.items():
            if of.name in HOST:
                there = rows.read(row)
                HOST[of.name](self.ops, there, of)
                rows.put_row(row, there)

    def draw(self, cand: Any, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        """Filter once and draw n times, many rows of what is left together."""
        no_uniforms(uniforms, "webgpu")
        *filters, last = self.chain.samplers
        for of in filters:
            self.apply_to({cand.row: of}, cand.rows)
        left, tokens = cand.rows.read(cand.row), np.empty(n, np.int32)
        together = max(1, AT_ONCE // max(4, len(left)))
        for first in range(0, n, together):
            rows = cand.rows.on.rows(np.tile(left.logits, (min(together, n - first), 1)))
            self.apply_to(dict.fromkeys(range(rows.count), last), rows)
            places = [rows.read(row).token for row in range(rows.count)]
            tokens[first : first + together] = left.ids[places]
        return tokens

    def clone(self) -> "Instance":
        return Instance(self.chain.clone(), self.ops, self.samplers)


class Serving(sampling.Serving):
    """Rows of a step sample together, stage by stage."""

    def step(self, wanted: list[p.BatchSample]) -> list[sampling.Sample]:
        if not wanted:
            return []
        chains: list[Any] = [self.live.rows[one.at].instance for one in wanted]
        worker: Any = self.worker
        rows: Rows = worker.on.rows(self.rows[[one.row for one in wanted]])
        samplers = [list(chain.chain.samplers) for chain in chains]
        results: list[list[p.StageResult]] = [[] for _ in wanted]
        for stage in range(max(map(len, samplers))):
            taking = {i: own[stage] for i, own in enumerate(samplers) if stage < len(own)}
            chains[0].apply_to(taking, rows)
            if self.sampling.with_stages:
                for i in taking:
                    left = worker.result(Place(rows, i))
                    self.sampling.write(left, results[i])
        tokens = [rows.read(i).token for i in range(len(wanted))]
        for one, chain, token in zip(wanted, chains, tokens, strict=True):
            accept(chain, one.accept, token)
        return list(zip(tokens, results, strict=True))


class Worker(worker.Worker):
    name = "webgpu"
    serving = Serving
    edit: Edit | None = None  # of a fault
    flushes_subnormals = False

    def __init__(self) -> None:
        super().__init__(Pairwise())

    @cached_property
    def on(self) -> Any:
        """The device. It is made for the greeting, which names what is missing."""
        return self.device(Shaders(PARTS, edit=self.edit))

    def device(self, shaders: Shaders) -> Any:
        return Device(shaders)

    def hello(self) -> p.HelloReply:
        return (
            super()
            .hello()
            .model_copy(
                update={
                    "build": self.on.build,
                    "device": self.on.summary,
                    "arithmetic": Arithmetic(
                        summation="unknown",
                        exp_ulps=2,
                        stable_sort=True,
                        flushes_subnormals=self.flushes_subnormals,
                    ),
                }
            )
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        built = super().build(chain, n_vocab, vocab)
        return Instance(built.chain, self.ops, self.samplers)

    def candidates(self, logits: NDArray[np.float32]) -> Any:
        return Place(self.on.rows(np.asarray(logits)[None]))

    def result(self, cand: Any) -> Result:
        there = cand.rows.read(cand.row)
        return there.ids, there.logits, there.p, None, there.selected
