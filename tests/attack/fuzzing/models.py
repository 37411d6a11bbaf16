"""Binary files: GGUF as logits, as recorded results and as a vocabulary."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import gguf
import numpy as np

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.maintenance.golden.recorded import compare
from sampler_parity.reference import ChainError
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import BINARY

_TYPES = gguf.GGUFValueType


def write_gguf(
    path: Path, architecture: str, facts: dict[str, Any], tensors: dict[str, Any]
) -> bytes:
    """Write a GGUF file without our digest, which would refuse every change."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, fact in facts.items():
        if isinstance(fact, list):
            writer.add_array(key, fact)
        elif isinstance(fact, str):
            writer.add_string(key, fact)
        else:
            writer.add_uint32(key, fact)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def _logits(folder: Path) -> list[bytes]:
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    made = folder / "made.gguf"
    fixtures.write(made, {"n_vocab": 4, "prompt_ids": ["a"]}, {"logits": rows})
    facts = {"sampler-parity.n_vocab": 4, "sampler-parity.prompt_ids": ["a", "b"]}
    return [
        write_gguf(folder / "plain.gguf", "llama", facts, {"logits": rows}),
        write_gguf(folder / "half.gguf", "llama", facts, {"logits": rows.astype(np.float16)}),
        made.read_bytes(),
    ]


def _results(folder: Path) -> list[bytes]:
    (folder / "vocab.gguf").write_bytes(_vocabularies(folder)[0])
    chains = [
        '{"id":"a","chain":[{"top_k":{"k":2}}]}',
        '{"id":"b","chain":[{"greedy":{}}],"history":[1]}',
    ]
    tensors: dict[str, Any] = {"rows": np.array([0, 1], np.int32)}
    for chain in "ab":
        tensors[f"{chain}/survivors"] = np.array([2, 2], np.int32)
        tensors[f"{chain}/ids"] = np.array([3, 2, 3, 2], np.int32)
        tensors[f"{chain}/p"] = np.full(4, 0.5, np.float32)
        tensors[f"{chain}/tokens"] = np.array([-1, -1], np.int32)
    facts = {"sampler-parity.n_vocab": 9, "sampler-parity.chains": chains}
    return [write_gguf(folder / "results.gguf", "llama", facts, tensors)]


def _read_results(path: Path) -> None:
    logits = np.arange(18, dtype=np.float32).reshape(2, 9)
    compare(path, fixtures.read(path), logits, path.parent / "vocab.gguf")


def _vocabularies(folder: Path) -> list[bytes]:
    key = "tokenizer.ggml"
    bpe = {
        f"{key}.model": "gpt2",
        f"{key}.pre": "gpt-2",
        f"{key}.tokens": ["a", "b", "ab", "Ġ", "\u0100", "Ċ", "c", "<|bos|>", "<|eot_id|>"],
        f"{key}.token_type": [1] * 7 + [3, 3],
        f"{key}.merges": ["a b", "Ġ a"],
        f"{key}.bos_token_id": 7,
        f"{key}.eos_token_id": 8,
    }
    spm = {
        f"{key}.model": "llama",
        f"{key}.tokens": ["<unk>", "<s>", "</s>", "<0x0A>", "<0xFF>", "▁", "a", "▁a", "é"],
        f"{key}.token_type": [2, 3, 3, 6, 6, 1, 1, 1, 1],
        f"{key}.scores": [0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0],
        f"{key}.eos_token_id": 2,
    }
    return [
        write_gguf(folder / f"{i}.gguf", "llama", facts, {}) for i, facts in enumerate((bpe, spm))
    ]


def _read_vocab(path: Path) -> None:
    """Read a vocabulary and ask it for all that samplers use: pieces, breakers, end tokens."""
    vocab = read_vocab.__wrapped__(path)
    n = len(vocab)
    for token in range(n):
        vocab.piece(token)
        vocab.detokenize(token)
    chain: ChainSpec = [
        {"infill": {}},
        {"grammar": {"grammar_str": 'root ::= [a-z]* "\\n"'}},
        {"dry": {"dry_multiplier": 0.8, "dry_allowed_length": 2, "seq_breakers": ["\n", "ab"]}},
    ]
    for stage in chain:
        build_chain([stage], n_vocab=n, vocab=vocab)


def lying(random: Random, data: bytes) -> bytes:
    """Replace a number of the file's header, or a length in it, by another one."""
    at = random.choice(
        [8, 16, *(i for i in range(24, len(data) - 8) if data[i + 2 : i + 8] == bytes(6))]
    )
    number = random.choice(
        (0, 1, 2, 7, 9, 10, 255, 1 << 20, 1 << 31, 1 << 40, 1 << 60, (1 << 64) - 1)
    )
    return data[:at] + number.to_bytes(8, "little") + data[at + 8 :]


_WAYS = (*BINARY, lying, lying, lying, lying)
_READS: dict[str, tuple[Callable[[Path], list[bytes]], Callable[[Path], object]]] = {
    "logits, GGUF": (_logits, fixtures.read_logits),
    "recorded results, GGUF": (_results, _read_results),
    "vocabulary, GGUF": (_vocabularies, _read_vocab),
}
INPUTS = [
    Fuzzed(name, "x.gguf", prepare, read, _WAYS, 60, (ChainError,))
    for name, (prepare, read) in _READS.items()
]
