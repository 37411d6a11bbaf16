"""onnxruntime_genai: ONNX Runtime GenAI's search on the CPU, by Generator.set_logits.

A chain is one stage of the same name, whose parameters are GenAI's search options; or llama.cpp's
penalties, temp, top_k, top_p in this order, which is GenAI's, then dist or greedy. It returns the
selected token only. engines/onnxruntime_genai/README.md explains the parameters.

A generator needs a text before it takes logits. Its text begins with a token just beyond the
vocabulary, which no penalty reaches; min_length is raised by one for it. After every token the text
is rewound to the accepted tokens and its last token fed again, because set_logits is refused
otherwise; the random numbers go on. GenAI has no window: the last penalty_last_n tokens are its
text.
"""

import importlib
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.engines.onnxruntime_genai import table_model as onnx
from sampler_parity.engines.shared.stage_parameters import ANY_SEED
from sampler_parity.engines.shared.whole_chains import LAST, Row, RowWorker, stages_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "onnxruntime_genai"
ORDER = ("penalties", "temp", "top_k", "top_p")
_LONGEST_TEXT = 1 << 17


@cache
def _library() -> Any:
    return importlib.import_module(NAME)


@cache
def model(n_vocab: int, eos_token_id: tuple[int, ...]) -> Any:
    """Load a model of the vocabulary; its own logits are not used. Raises InputError."""
    with tempfile.TemporaryDirectory() as name:
        onnx.write(Path(name), np.zeros((1, n_vocab), np.float32), eos_token_id)
        return _library().Model(name)


def options_of(chain: ChainSpec) -> dict[str, Any]:
    """Return the search options. Raises Unsupported for what GenAI lacks or orders otherwise."""
    if len(chain) == 1 and NAME in chain[0]:
        return dict(chain[0][NAME])
    options: dict[str, Any] = {"top_k": 0, "top_p": 1.0}
    for name, parameters in stages_of(chain, ORDER, "GenAI"):
        options |= _options(name, parameters)
    return options


def _options(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if name == "dist":
        seed = parameters["seed"]
        return {"do_sample": True, "random_seed": -1 if seed == ANY_SEED else seed}
    if name == "greedy":
        return {"do_sample": False}
    if name == "penalties":
        return {
            "repetition_penalty": float(parameters["penalty_repeat"]),
            "penalty_last_n": max(0, parameters["penalty_last_n"]),
        }
    if name == "temp":
        return {"temperature": float(parameters["temp"])}
    return {name: parameters["k"] if name == "top_k" else float(parameters["p"])}


class Instance:
    def __init__(self, chain: ChainSpec, n_vocab: int) -> None:
        options = options_of(chain)
        self.stages = len(chain)
        self.last_n = options.pop("penalty_last_n", _LONGEST_TEXT)
        self.model = model(n_vocab, tuple(options.get("eos_token_id", (0,))))
        self.options = {key: value for key, value in options.items() if key != "eos_token_id"}
        if self.options.get("min_length"):
            self.options["min_length"] += 1
        self.start = n_vocab
        self.reset()

    def reset(self) -> None:
        parameters = _library().GeneratorParams(self.model)
        try:
            parameters.set_search_options(max_length=_LONGEST_TEXT, **self.options)
            self.generator = _library().Generator(self.model, parameters)
        except RuntimeError as error:
            raise InputError(NAME, str(error).splitlines()[0]) from None
        self.text: list[int] = []
        self.fed: list[int] = []

    def accept(self, token: int) -> None:
        self.text.append(token)

    def clone(self) -> "Instance":
        raise Unsupported("GenAI copies no generator, and its random numbers cannot be read")

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and self.stages > 1:
            raise Unsupported("GenAI shows no stage, only the token of all")
        text = [self.start, *self.text[max(0, len(self.text) - self.last_n) :]]
        again = max(0, len(self.fed) - 1) if text[: len(self.fed)] == self.fed else 0
        if self.fed:
            self.generator.rewind_to(again)
        self.generator.append_tokens(np.array([text[again:]], np.int32))
        self.fed = text
        self.generator.set_logits(row.logits[np.newaxis])
        self.generator.generate_next_token()
        row.token = int(self.generator.get_next_tokens()[0])


class Worker(RowWorker):
    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=f"onnxruntime-genai {_library().__version__}",
            capabilities=["run", "draws", "time"],
            samplers=[NAME, *ORDER, *LAST],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return Instance(chain, n_vocab)
