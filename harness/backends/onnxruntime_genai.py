"""onnxruntime_genai: ONNX Runtime GenAI's search on the CPU, by Generator.set_logits.

A chain is one stage of the same name, whose parameters are GenAI's search options; it selects a
token and shows nothing else. docs/engines/onnxruntime_genai.md has what they mean.

A generator wants a text before it takes logits. Its text begins with a token just beyond the
vocabulary, which no penalty reaches and which min_length is told to count. After every token the
text is taken back to what was accepted and its last token fed again, without which set_logits is
refused; the random numbers go on.
"""

import importlib
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.table_model import onnx
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

NAME = "onnxruntime_genai"
_LONGEST_TEXT = 1 << 17


@cache
def _library() -> Any:
    return importlib.import_module(NAME)


@cache
def model(n_vocab: int, eos_token_id: tuple[int, ...]) -> Any:
    """A model of the vocabulary, whose own logits nobody reads. Raises InputError."""
    with tempfile.TemporaryDirectory() as name:
        onnx.write(Path(name), np.zeros((1, n_vocab), np.float32), eos_token_id)
        return _library().Model(name)


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits
        self.token = -1


class Instance:
    def __init__(self, options: dict[str, Any], n_vocab: int) -> None:
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
        except (RuntimeError, TypeError) as error:
            raise InputError(NAME, str(error).splitlines()[0]) from None
        self.text = [self.start]
        self.fed = 0

    def accept(self, token: int) -> None:
        self.text.append(token)

    def clone(self) -> "Instance":
        raise Unsupported("GenAI copies no generator, and its random numbers cannot be read")

    def apply(self, stage: int | None, row: Row) -> None:
        if self.fed:
            self.generator.rewind_to(self.fed - 1)
        unfed = self.text[max(0, self.fed - 1) :]
        self.generator.append_tokens(np.array([unfed], np.int32))
        self.fed = len(self.text)
        self.generator.set_logits(row.logits[np.newaxis])
        self.generator.generate_next_token()
        row.token = int(self.generator.get_next_tokens()[0])


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name=NAME,
            version=f"onnxruntime-genai {_library().__version__}",
            capabilities=["run", "draws", "time"],
            samplers=[NAME],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        if len(chain) != 1 or NAME not in chain[0]:
            raise Unsupported(f"{NAME} is a whole pipeline: the only stage of its chain")
        return Instance(dict(chain[0][NAME]), n_vocab)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(logits)

    def result(self, row: Row) -> tuple[Any, Any, Any, bool | None, int]:
        ids = np.arange(len(row.logits), dtype=np.int32)
        return ids, row.logits, np.zeros_like(row.logits), None, row.token
