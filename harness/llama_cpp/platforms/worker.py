"""llama.cpp's samplers of another platform: chains in a program of worker.cpp."""

import ctypes
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA
from sampler_parity.harness.llama_cpp.platforms.program import Program, SamplerRefused, encoded
from sampler_parity.harness.llama_cpp.platforms.runners import command_of
from sampler_parity.harness.llama_cpp.recorded import unchanged
from sampler_parity.harness.llama_cpp.signatures import (
    ARGUMENTS,
    LAZY_BY_WORDS,
    SIGNATURES,
    has,
    signature,
)
from sampler_parity.harness.protocol.environment import lift_memory_limit
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import Vocab
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.vocab import TokenType

# an argument that is a list's length -> the list
_LENGTH_OF = {
    "num_breakers": "seq_breakers",
    "n_logit_bias": "logit_bias",
    "num_trigger_patterns": "trigger_patterns",
    "num_trigger_words": "trigger_words",
    "num_trigger_tokens": "trigger_tokens",
}


class CandidateRow:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.data = np.zeros(len(logits), TOKEN_DATA)
        self.data["id"] = np.arange(len(logits))
        self.data["logit"] = logits
        self.selected, self.sorted = -1, False


class PlatformChain:
    """The stages one by one, and a second set of them in one llama_sampler_chain, by handles."""

    def __init__(self, program: Program, handles: list[int]) -> None:
        self.program, self.handles = program, handles

    def apply(self, stage: int | None, row: CandidateRow) -> None:
        sampler = self.handles[-1 if stage is None else stage]
        row.data, row.selected, row.sorted = self.program.apply(
            sampler, row.data, row.selected, row.sorted
        )

    def draw(
        self, row: CandidateRow, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Draw n tokens by the last stage, a dist."""
        if uniforms is not None:
            raise Unsupported("llama.cpp takes no uniforms")
        last = len(self.handles) - 2  # behind it is the whole chain
        for stage in range(last):
            self.apply(stage, row)
        return self.program.draw(self.handles[last], n, row.data, row.selected, row.sorted)

    def accept(self, token: int) -> None:
        self.program.ask("accept", token, *self.handles)

    def reset(self) -> None:
        self.program.ask("reset", *self.handles)

    def clone(self) -> "PlatformChain":
        return PlatformChain(self.program, list(map(int, self.program.ask("clone", *self.handles))))

    def __del__(self) -> None:
        if not self.program.closed:
            self.program.ask("free", *self.handles)


class Worker:
    """registered: the name of a build for another platform."""

    def __init__(self, registered: str) -> None:
        unchanged(registered)
        self._build, command, environment = command_of(registered)
        lift_memory_limit()  # emulators reserve more addresses than there is memory
        self.program = Program(command, environment)
        self._vocabulary_kind, *about = self.program.ask("hello")
        self._about = " ".join(about)
        self._vocabularies: dict[str, int] = {}

    def hello(self) -> HelloReply:
        release = self._build.release or ""
        return HelloReply(
            name="llama.cpp",
            version=release,
            build=f"{self._build.name}, {self._about}",
            device=f"cpu | {self._build.runner or 'native'}",
            platform=self._build.platform,
            capabilities=["run", "draws", "whole_chain"],
            samplers=[
                *sorted(name for name in SIGNATURES if has(name, release)),
                *(["ignore_eos"] if release == NEWEST else []),
            ],
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> PlatformChain:
        stages = [self._init(stage, n_vocab, vocab) for stage in chain]
        in_chain = [self._init(stage, n_vocab, vocab) for stage in chain]
        (chain_handle,) = self.program.ask("chain", *in_chain)
        return PlatformChain(self.program, [*stages, int(chain_handle)])

    def candidates(self, logits: NDArray[np.float32]) -> CandidateRow:
        return CandidateRow(logits)

    def result(self, row: CandidateRow) -> Result:
        return row.data["id"], row.data["logit"], row.data["p"], row.sorted, row.selected

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        if "ignore_eos" in stage:
            stage = _bans_of_ends(vocab)
        ((name, parameters),) = stage.items()
        taken = signature(name, self._build.release or "")
        if parameters.get("trigger_words"):
            taken = LAZY_BY_WORDS
        values = {"n_vocab": n_vocab} | parameters
        if self._build.runner == "node" and values.get("min_keep", 0) >= 1 << 32:
            raise Unsupported("in WebAssembly size_t has 32 bits: min_keep does not fit")
        values["vocab"] = self._vocabulary(vocab) if vocab and "vocab" in taken.arguments else 0
        arguments = [_argument(name, values) for name in taken.arguments]
        try:
            (handle,) = self.program.ask("init", taken.symbol, *arguments)
        except SamplerRefused as refused:
            raise InputError(name, f"llama.cpp refuses its parameters: {refused}") from None
        return int(handle)

    def _vocabulary(self, path: str) -> int:
        """Make the vocabulary: a whole libllama reads the file itself; others get the
        reference's."""
        vocab = None if self._vocabulary_kind == "file" else read_vocab(Path(path))
        if vocab is not None:
            self.program.tokenize = lambda text, special: _tokens(vocab, text, special)
        if path not in self._vocabularies:
            words = [path.encode()] if vocab is None else _table(vocab)
            (handle,) = self.program.ask("vocab", *map(encoded, words))
            self._vocabularies[path] = int(handle)
        return self._vocabularies[path]


def _bans_of_ends(vocab: str | None) -> dict[str, dict[str, Any]]:
    """Return the stage of llama_cpp/ends.py, for the reference's vocabulary."""
    if not vocab:
        raise InputError("ignore_eos", "needs a vocabulary")
    words = read_vocab(Path(vocab))
    ends = sorted(words.eog) if words.eos >= 0 else []
    return {"logit_bias": {"logit_bias": [[token, -math.inf] for token in ends]}}


def _argument(name: str, values: dict[str, Any]) -> str:
    """Encode an argument for words.hpp; C also takes the length of a list."""
    if name in _LENGTH_OF:
        return str(len(values[_LENGTH_OF[name]]))
    value = values[name]
    if name == "logit_bias":
        pairs = [f"{token} {encoded(np.float32(bias))}" for token, bias in value]
        return " ".join([str(len(value)), *pairs])
    if ARGUMENTS[name] is ctypes.c_float:
        return encoded(np.float32(value))
    if name == "seq_breakers" and not all(isinstance(item, str | None) for item in value):
        raise Unsupported("llama.cpp's C interface takes DRY sequence breakers as strings only")
    if isinstance(value, list | tuple):
        return encoded([item.encode() if isinstance(item, str) else item for item in value])
    return encoded(value.encode() if isinstance(value, str) else value)


def _table(vocab: Vocab) -> list[object]:
    """Return a vocabulary in the form that vocabulary_table.cpp reads."""
    words: list[object] = [vocab.eos, vocab.eot, len(vocab)]
    for token, kind in enumerate(vocab.types):
        special = kind in (TokenType.UNKNOWN, TokenType.CONTROL)
        words += [vocab.pieces[token], vocab.detokenized[token], special, token in vocab.eog]
    return words


def _tokens(vocab: Vocab, text: bytes, special: bool) -> list[int]:
    """Tokenize a text. special: a text that is a special token's name is that token."""
    name = text.decode(errors="surrogateescape")  # a token's name has no half characters
    if special and name in vocab.texts:
        return [vocab.texts.index(name)]
    return vocab.tokenize(text)
