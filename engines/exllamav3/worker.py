"""exllamav3: the steps of ExLlamaV3's samplers, torch on the CPU (engines/exllamav3/README.md).

Its extension is compiled for CUDA and is a stand-in here. So penalties, DRY, the draw by Gumbel
noise, adaptive-p and the fused steps are unsupported. The draw of dist is torch.multinomial, seeded
for each token with a number of random.Random(seed), as its jobs are.

Readings: a stage is shown by a sampler of the stages up to it. After a cut under llama.cpp's name
tokens without p are removed; after a stage under its own name all are listed by id. Steps that hold
probabilities keep no logits. Then the logits before that step are shown, or the log of p after a
temperature that is a power of p. The p shown is that before a cut by top_p, of a draw, and of its
own stages.
"""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.exllamav3.engine import exllamav3
from sampler_parity.engines.exllamav3.samplers import (
    COMBO,
    CUTS,
    OWN,
    SAMPLERS,
    samplers_of,
)
from sampler_parity.engines.shared import torch_cpu
from sampler_parity.engines.shared.stage_parameters import ANY_SEED, no_uniforms
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = exllamav3().torch.tensor(logits)[None]
        n = len(logits)
        self.result: Result = (np.arange(n), logits, np.zeros_like(logits), None, -1)


class Instance:
    def __init__(self, chain: ChainSpec) -> None:
        self.chain = chain
        stages = [stage for each in chain for stage in each.items()]
        self.names = [name for name, _ in stages]
        self.samplers = samplers_of(stages)
        self.seed = next((given["seed"] for name, given in stages if name == "dist"), 0)
        self.reset()

    def reset(self) -> None:
        self.rng = random.Random(None if self.seed == ANY_SEED else self.seed)

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None:
            row.result = self.shown(stage + 1, row)
        elif self.names:
            sample = self.ran(len(self.names), row).sample
            row.result = (*row.result[:4], -1 if sample is None else int(sample))

    def ran(self, stages: int, row: Row) -> Any:
        """Return the state after so many stages, with a random number per token, as Job does."""
        name = self.names[stages - 1]
        number = self.rng.randint(0, (1 << 32) - 1) if name == "dist" else 0
        try:
            sampler = self.samplers[stages - 1]
            return sampler.forward(row.logits.clone(), rand_u32=number, return_state=True)
        except (RuntimeError, ValueError, IndexError) as error:
            raise InputError("ExLlamaV3", str(error).splitlines()[0]) from None

    def shown(self, stages: int, row: Row) -> Result:
        names = self.names[:stages]
        state, n = self.ran(stages, row), row.logits.shape[1]
        ids, p = np.arange(n), np.zeros(n, np.float32)
        ranked = ids if state.indices is None else state.indices[0].numpy()
        token = -1 if state.sample is None else int(state.sample)
        if state.probs is not None:
            p[ranked] = state.probs[0].numpy()
        elif state.logits is not None:
            p[ranked] = (state.logits[0] > -float("inf")).numpy()
        elif names[0] == COMBO:
            p[token] = 1
        if {*CUTS} & {*names} and p.any():
            ids = ranked[p[ranked] > 0]
        at = np.flatnonzero(ids == token)[:1].tolist()
        of = p if {names[-1]} & {"top_p", "dist", *OWN} else np.zeros_like(p)
        return ids, self.logits(names, row, p)[ids], of[ids], None, at[0] if at else -1

    def logits(self, names: list[str], row: Row, p: Any) -> Any:
        """Return the logits before the first stage that holds probabilities, or p's logarithm."""
        holds = {*CUTS, "dist", *OWN}
        before = next((at for at, name in enumerate(names) if name in holds), len(names))
        if "temp" in names[before:]:
            with np.errstate(divide="ignore"):
                return np.log(p)
        logits = row.logits if before == 0 else self.ran(before, row).logits
        return (row.logits if logits is None else logits)[0].numpy()

    def accept(self, token: int) -> None:
        """Do nothing: its penalties need CUDA, and no other step uses the past."""

    accept_prompt = accept

    def clone(self) -> "Instance":
        twin = Instance(self.chain)
        twin.rng.setstate(self.rng.getstate())
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, "ExLlamaV3")
        return np.array([int(self.ran(len(self.names), row).sample) for _ in range(n)], np.int32)


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="exllamav3",
            version=exllamav3().version,
            capabilities=["run", "draws", "time"],
            samplers=SAMPLERS,
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        return row.result
