"""litgpt: `sample` of litgpt/generate/base.py, torch on the CPU (engines/litgpt/README.md).

The p shown is what sample passes to multinomial_num_samples_1; the logits shown are the row. An
instance has a state of torch's generator of its own. Without vector instructions torch's softmax,
sort and top-k are the same on every CPU.
"""

import importlib
import os
from dataclasses import dataclass
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

NAME = "litgpt"
ORDER = ("top_k", "temp", "top_p")
NEVER_CALLED = ("config", "constants", "model", "prompts", "tokenizer", "utils")


@cache
def litgpt() -> SimpleNamespace:
    """Import the file of the sampler. Raises Unsupported if LitGPT or torch is not installed."""
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    stand_in_for(["lightning", *(f"{NAME}.{name}" for name in NEVER_CALLED)])
    try:
        without_init(NAME)
        torch = importlib.import_module("torch")
        base = importlib.import_module("litgpt.generate.base")
        label = f"litgpt {version(NAME)}, torch {torch.__version__}"
    except ImportError as error:
        raise Unsupported(f"LitGPT does not load: {error}") from None
    torch.set_num_threads(1)
    return SimpleNamespace(torch=torch, base=base, version=label)


@dataclass(frozen=True)
class Request:
    """options: arguments of sample. draws: the chain ends in a draw, not in a filter."""

    options: dict[str, Any]
    draws: bool = True
    seed: int = 0


def request_of(chain: ChainSpec) -> Request:
    """Return a chain as LitGPT's request. Raises Unsupported."""
    stages = [stage for each in chain for stage in each.items()]
    if stages and stages[0][0] == NAME:
        others = [name for name, _ in stages[1:]]
        if others not in ([], ["dist"]):
            raise Unsupported("LitGPT has one stage, and then dist")
        return Request(stages[0][1], bool(others), stages[-1][1].get("seed", 0))
    named = dict(stages_of(chain, ORDER, "LitGPT"))
    names = {"top_k": ("top_k", "k"), "temp": ("temperature", "temp"), "top_p": ("top_p", "p")}
    options = {to: named[stage][key] for stage, (to, key) in names.items() if stage in named}
    if "greedy" in named:
        return Request(options | {"temperature": 0.0})
    return Request(options, seed=named["dist"]["seed"])


class Instance(TorchSample):
    engine = "LitGPT"

    def __init__(self, chain: ChainSpec) -> None:
        self.request = request_of(chain)
        super().__init__(chain, self.request.seed)

    def library(self) -> SimpleNamespace:
        return litgpt()

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and NAME not in self.chain[stage]:
            raise Unsupported("LitGPT shows its own stage alone")
        drawn: list[Any] = []
        base = litgpt().base
        original = base.multinomial_num_samples_1

        def recorded(probs: Any) -> Any:
            drawn.append(probs)
            return original(probs)

        base.multinomial_num_samples_1 = recorded
        try:
            (token,) = self.draw(row, 1, None)
        finally:
            base.multinomial_num_samples_1 = original
        row.p = drawn[0].numpy() if drawn else row.p
        row.token = int(token) if not drawn or (self.request.draws and stage is None) else -1

    def tokens(self, logits: Any, n: int) -> list[int]:
        sample = litgpt().base.sample
        return [int(sample(logits[None], **self.request.options)) for _ in range(n)]


class Worker(RowWorker):
    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=litgpt().version,
            capabilities=["run", "draws", "time"],
            samplers=[NAME, *ORDER, *LAST],
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain)
