"""exllamav3: the steps of ExLlamaV3's CustomSampler, torch on the CPU (docs/engines/exllamav3.md).

Its extension is compiled for CUDA and is a stand-in here: what calls it (penalties, DRY, the draw
by Gumbel noise, adaptive-p, the fused steps) is unsupported. dist is SS_Sample_mn, its step "for
testing/validation": torch.multinomial, seeded anew at each token with a number of
random.Random(seed), as its jobs take one.

Readings: what has no p is removed behind a cut. Steps that hold probabilities keep no logits: those
that the row had before are shown, behind a temperature that is a power of p the log of p. p is that
before a cut by top_p, and of a draw. A stage shows a sampler of the steps up to it.
"""

import importlib
import os
import random
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.absent import stand_in_for
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

SAMPLERS = ["logit_bias", "temp", "top_k", "top_p", "min_p", "greedy", "dist"]
CUTS = {"top_k", "top_p", "min_p"}
DRAW_YOURSELF = 0xFFFFFFFF  # of llama.cpp: no seed


@cache
def libraries() -> tuple[Any, Any]:
    """torch and the sampling steps. Raises Unsupported where they are not installed."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"  # the same softmax and sort on every CPU
    os.environ["EXL3_FUSED_SAMPLER"] = "0"  # needs its extension
    stand_in_for(["exllamav3.ext", "exllamav3.tokenizer"])
    try:
        spec = find_spec("exllamav3")
        folder = next(iter((spec and spec.submodule_search_locations) or []), "")
        for name in ("exllamav3", "exllamav3.generator"):  # without what their __init__ load
            package = ModuleType(name)
            package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
            sys.modules[name] = package
        torch = importlib.import_module("torch")
        steps = importlib.import_module("exllamav3.generator.sampler.custom")
    except ImportError as error:
        raise Unsupported(f"ExLlamaV3 does not load: {error}") from None
    torch.set_num_threads(1)
    return torch, steps


def step_of(name: str, given: dict[str, Any]) -> Any:
    """Raises Unsupported for what it has not."""
    if given.get("min_keep", 0) > 1:
        raise Unsupported("ExLlamaV3 keeps one token, no more")
    _, steps = libraries()
    if name == "logit_bias":
        pairs = given["logit_bias"]
        if len({token for token, _ in pairs}) < len(pairs):
            raise Unsupported("ExLlamaV3 takes one bias for a token")
        return steps.SS_LogitBias({token: float(bias) for token, bias in pairs})
    made = {
        "temp": lambda: steps.SS_Temperature(float(given["temp"])),
        "top_k": lambda: steps.SS_TopK(given["k"]),
        "top_p": lambda: steps.SS_TopP(float(given["p"])),
        "min_p": lambda: steps.SS_MinP(float(given["p"])),
        "greedy": steps.SS_Argmax,
        "dist": steps.SS_Sample_mn,
    }
    if name not in made:
        raise Unsupported(f"ExLlamaV3 has no {name} on a CPU")
    return made[name]()


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = libraries()[0].tensor(logits)[None]
        n = len(logits)
        self.result: Result = (np.arange(n), logits, np.zeros_like(logits), None, -1)


class Instance:
    def __init__(self, chain: ChainSpec) -> None:
        self.chain = chain
        self.names = [name for stage in chain for name in stage]
        if any(name in ("dist", "greedy") for name in self.names[:-1]):
            raise Unsupported("ExLlamaV3 selects last")
        try:
            self.steps = [step_of(name, of) for stage in chain for name, of in stage.items()]
            custom = libraries()[1].CustomSampler
            self.samplers = [custom(self.steps[: n + 1]) for n in range(len(self.steps))]
        except AssertionError as error:
            raise InputError("ExLlamaV3", str(error) or "it refuses the value") from None
        self.seed = next((stage["dist"]["seed"] for stage in chain if "dist" in stage), 0)
        self.reset()

    def reset(self) -> None:
        self.rng = random.Random(None if self.seed == DRAW_YOURSELF else self.seed)

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None:
            row.result = self.shown(stage + 1, row)
        elif self.names:
            selects = self.names[-1] in ("dist", "greedy")
            token = int(self.ran(len(self.names), row).sample) if selects else -1
            row.result = (*row.result[:4], token)

    def ran(self, stages: int, row: Row) -> Any:
        """The state behind so many steps, as Job asks for it: a number for each token."""
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
        before = next((at for at, name in enumerate(names) if name in CUTS | {"dist"}), stages)
        logits = row.logits if before == 0 else self.ran(before, row).logits
        logits = (row.logits if logits is None else logits)[0].numpy()
        ids, p = np.arange(n), np.zeros(n, np.float32)
        if state.probs is not None or state.logits is not None:
            weights = state.probs
            if weights is None:
                weights = (state.logits != -float("inf")).float()
            ranked = ids if state.indices is None else state.indices[0].numpy()
            p[ranked] = weights[0].numpy()
            if CUTS & set(names):
                ids = ranked[p[ranked] > 0]
            if "temp" in names[before:]:
                with np.errstate(divide="ignore"):
                    logits = np.log(p)
        token = -1 if state.sample is None else int(state.sample)
        at = np.flatnonzero(ids == token)[:1].tolist()
        of = p if names[-1] in ("top_p", "dist") else np.zeros_like(p)
        return ids, logits[ids], of[ids], None, at[0] if at else -1

    def accept(self, token: int) -> None:
        """Its penalties need CUDA; no other step knows the past."""

    accept_prompt = accept

    def clone(self) -> "Instance":
        twin = Instance(self.chain)
        twin.rng.setstate(self.rng.getstate())
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        if uniforms is not None:
            raise Unsupported("ExLlamaV3 takes no uniforms")
        return np.array([int(self.ran(len(self.names), row).sample) for _ in range(n)], np.int32)


class Worker:
    def hello(self) -> HelloReply:
        torch, _ = libraries()
        return HelloReply(
            name="exllamav3",
            version=f"exllamav3 {version('exllamav3')}, torch {torch.__version__}",
            capabilities=["run", "draws", "time"],
            samplers=SAMPLERS,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        return row.result
