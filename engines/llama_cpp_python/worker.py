"""llama_cpp_python: the samplers as llama-cpp-python's `Llama` puts them together.

The chain is that of `Llama._init_sampler`, with a model of zeros. It is applied to the given logits
and then accepts the token; `LlamaSampler.sample` does both in one call. A chain of llama.cpp's
samplers is turned into arguments if it has Llama's order.
"""

import ctypes
import importlib
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.engines.shared.table_model import gguf as table
from sampler_parity.engines.shared.whole_chains import Row, RowWorker
from sampler_parity.harness.errors import Unsupported, lacking
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "llama_cpp_python"
# arguments that leave a chain of llama.cpp's samplers as it is
_OFF = {"temperature": 1.0, "top_k": 0, "typical_p": 1.0, "top_p": 1.0, "min_p": 0.0, "seed": 0}
# in Llama's order: stage -> its parameters as Llama's arguments
_ARGUMENTS = {
    "penalties": {
        "penalty_last_n": "last_n_tokens_size",
        "penalty_repeat": "repeat_penalty",
        "penalty_freq": "frequency_penalty",
        "penalty_present": "presence_penalty",
    },
    "top_k": {"k": "top_k"},
    "typical_p": {"p": "typical_p"},
    "top_p": {"p": "top_p"},
    "min_p": {"p": "min_p"},
    "temp": {"temp": "temperature"},
    "dist": {"seed": "seed"},
    "greedy": {},
}


def arguments_of(chain: ChainSpec) -> dict[str, Any]:
    """Return Llama's arguments for a chain. Raises Unsupported if Llama makes no such chain."""
    stages = [one for stage in chain for one in stage.items()]
    names = [name for name, _ in stages]
    if names == [NAME]:
        return dict(stages[0][1])
    order = [name for name in _ARGUMENTS if name in names]
    if names != order or names[-1] not in ("dist", "greedy"):
        raise Unsupported(f"Llama makes no chain of {', '.join(names)}: its order is fixed")
    arguments = dict(_OFF)
    for name, parameters in stages:
        if parameters.get("min_keep", 1) > 1:
            raise Unsupported("Llama has no min_keep")
        taken = _ARGUMENTS[name]
        arguments |= {taken[key]: parameters[key] for key in parameters if key in taken}
    if "greedy" in names:
        arguments["temperature"] = 0.0
    return arguments


class Instance:
    def __init__(self, package: Any, llama: Any, arguments: dict[str, Any]) -> None:
        self.package, self.llama, self.arguments = package, llama, arguments
        self.reset()

    def reset(self) -> None:
        of = {key: value for key, value in self.arguments.items() if key != "n_vocab"}
        self.llama.set_seed(of.pop("seed"))
        self.llama.last_n_tokens_size = of.pop("last_n_tokens_size", 64)
        self.sampler = self.llama._init_sampler(temp=of.pop("temperature"), **of)

    def apply(self, stage: int | None, row: Row) -> None:
        candidates = NativeCandidates(row.logits)
        array = ctypes.byref(candidates.array)
        arrays = ctypes.POINTER(self.package.llama_token_data_array)
        self.package.llama_sampler_apply(self.sampler.sampler, ctypes.cast(array, arrays))
        row.token = int(candidates.current()["id"][candidates.array.selected])

    def accept(self, token: int) -> None:
        self.sampler.accept(token)

    def accept_prompt(self, token: int) -> None:
        """Do nothing: Llama never accepts a prompt."""

    def clone(self) -> "Instance":
        twin = Instance(self.package, self.llama, self.arguments)
        twin.sampler = self.sampler.clone()
        return twin


class Worker(RowWorker):
    def __init__(self) -> None:
        try:
            self.package = importlib.import_module("llama_cpp")
        except ImportError:
            raise Unsupported(lacking("llama")) from None
        self.llamas: dict[int, Any] = {}

    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=f"llama-cpp-python {version('llama-cpp-python')}",
            capabilities=["run", "draws", "time", "origin"],
            samplers=[NAME, *_ARGUMENTS],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        arguments = arguments_of(chain)
        if n_vocab not in self.llamas:
            self.llamas.clear()  # one model at a time
            with tempfile.TemporaryDirectory() as folder:
                table.write(Path(folder), np.zeros((1, n_vocab), np.float32))
                path = str(Path(folder) / table.FILE)
                of = {"n_ctx": 8, "n_threads": 1, "verbose": False, "use_mmap": False}
                self.llamas[n_vocab] = self.package.Llama(path, **of)
        return Instance(self.package, self.llamas[n_vocab], arguments)
