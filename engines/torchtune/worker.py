"""torchtune: `sample` of torchtune/generation, torch on the CPU (engines/torchtune/README.md).

The p shown is what sample passes to multinomial_sample_one; the logits shown are the row. An
instance has a state of torch's generator of its own. Without vector instructions torch's softmax is
the same on every CPU.
"""

import importlib
import os
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from sampler_parity.engines.shared import torch_cpu
from sampler_parity.engines.shared.import_stubs import stand_in_for, without_init
from sampler_parity.engines.shared.torch_sample import TorchSample
from sampler_parity.engines.shared.whole_chains import LAST, Row, RowWorker, stages_of
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "torchtune"
ORDER = ("temp", "top_k")


@cache
def torchtune() -> SimpleNamespace:
    """Import the file of the sampler. Raises Unsupported if torchtune or torch is missing."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    stand_in_for([f"{NAME}.modules"])
    try:
        without_init(NAME)
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


class Instance(TorchSample):
    engine = NAME

    def __init__(self, chain: ChainSpec) -> None:
        self.options, seed = request_of(chain)
        self.draws = seed is not None
        super().__init__(chain, seed or 0)

    def library(self) -> SimpleNamespace:
        return torchtune()

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
        row.token = token if self.draws and stage is None else -1

    def tokens(self, logits: Any, n: int) -> list[int]:
        sample = torchtune().generation.sample
        return [int(sample(logits.clone(), **self.options)) for _ in range(n)]


class Worker(RowWorker):
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
