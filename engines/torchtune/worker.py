"""torchtune: `sample` of torchtune/generation, torch on the CPU (engines/torchtune/README.md).

The p shown is what sample passes to multinomial_sample_one; the logits shown are the row. An
instance has a state of torch's generator of its own. Without vector instructions torch's softmax is
the same on every CPU.
"""

import importlib
import os
import sys
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import torch_cpu
from sampler_parity.engines.shared.import_stubs import stand_in_for
from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.whole_chains import LAST, stages_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "torchtune"
ORDER = ("temp", "top_k")


@cache
def torchtune() -> SimpleNamespace:
    """Import the file of the sampler. Raises Unsupported if torchtune or torch is missing."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    stand_in_for([f"{NAME}.modules"])
    try:
        spec = find_spec(NAME)
        package = ModuleType(NAME)  # without what its __init__ loads
        package.__path__ = [*((spec and spec.submodule_search_locations) or [])]
        sys.modules[NAME] = package
        torch = importlib.import_module("torch")
        generation = importlib.import_module("torchtune.generation._generation")
        label = f"torchtune {version(NAME)}, torch {torch.__version__}"
    except ImportError as error:
        raise Unsupported(f"torchtune does not load: {error}") from None
    torch.set_num_threads(1)
    return SimpleNamespace(torch=torch, generation=generation, version=label)


def request_of(chain: ChainSpec) -> tuple[dict[str, Any], int | None]:
    """Return the arguments of sample, and the seed; None for a chain without a draw."""
    stages = [stage for each in chain for stage in each.items()]
    if stages and stages[0][0] == NAME:
        others = [name for name, _ in stages[1:]]
        if others not in ([], ["dist"]):
            raise Unsupported("torchtune has one stage, and then dist")
        return stages[0][1], stages[-1][1]["seed"] if others else None
    named = dict(stages_of(chain, ORDER, NAME))
    if "greedy" in named:
        raise Unsupported("torchtune has no greedy: it draws from the largest at temperature 0")
    names = {"temp": ("temperature", "temp"), "top_k": ("top_k", "k")}
    options = {to: named[stage][key] for stage, (to, key) in names.items() if stage in named}
    return options, named["dist"]["seed"]


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits
        self.p = np.zeros(len(logits), np.float32)
        self.token = -1


class Instance:
    def __init__(self, chain: ChainSpec) -> None:
        self.chain = chain
        self.options, self.seed = request_of(chain)
        self.reset()

    def reset(self) -> None:
        self.state = torchtune().torch.Generator().manual_seed(self.seed or 0).get_state()

    def accept(self, token: int) -> None:
        """Do nothing: the sampler has no history."""

    def clone(self) -> "Instance":
        twin = Instance(self.chain)
        twin.state = self.state.clone()
        return twin

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and NAME not in self.chain[stage]:
            raise Unsupported("torchtune shows its own stage alone")
        generation = torchtune().generation
        original = generation.multinomial_sample_one

        def recorded(probs: Any, q: Any) -> Any:
            row.p = probs[0].numpy()
            return original(probs, q)

        generation.multinomial_sample_one = recorded
        try:
            token = int(self.draw(row, 1, None)[0])
        finally:
            generation.multinomial_sample_one = original
        row.token = token if self.seed is not None and stage is None else -1

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, NAME)
        engine = torchtune()
        logits, sample = engine.torch.tensor(row.logits)[None], engine.generation.sample
        engine.torch.set_rng_state(self.state)
        try:
            tokens = [int(sample(logits.clone(), **self.options)) for _ in range(n)]
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise InputError(NAME, (str(error).splitlines() or [""])[0]) from None
        self.state = engine.torch.get_rng_state()
        return np.array(tokens, np.int32)


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=torchtune().version,
            capabilities=["run", "draws", "time"],
            samplers=[NAME, *ORDER, LAST[0]],
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        return np.arange(len(row.p)), row.logits, row.p, None, row.token
