"""Models that generate: by name or by path, and checked before anything runs.

`random-128256` has random weights and llama's architecture; it is made in a moment and never
committed. It has the vocabulary size of a large model and next to no layers. Sampling from it
costs as much as from a real model. Everything is made of the raw bits of NumPy's PCG64 with exact
arithmetic: the same file on every machine.

Its logits are not flat noise. A random network gives normally distributed logits whose entropy is
alike at all steps. Here the last norm weighs the dimensions unequally, so that the spread of the
logits depends on the text. docs/results/README.md has the resulting entropies.
"""

import functools
import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.inputs.fixtures import LogitsEntry, read_manifest
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.reference.vocab import _CHAR_OF, TokenType

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Shape:
    """Describe one layer. The embedding is the output matrix, too."""

    n_vocab: int
    width: int
    heads: int
    n_context: int


RANDOM_128256 = Shape(n_vocab=128_256, width=64, heads=4, n_context=1024)
_SPREAD = 4.5
_SHA256 = "dc86725473b824b2450349191ce53d7712a1819130906cedd4cccaf5af078ee3"
_SPECIAL = ("<|bos|>", "<|eos|>", "<|eot|>")


@functools.cache
def random_128256_path() -> Path:
    """Return the model with 128,256 tokens, in the user's cache folder; make it if it is missing.
    Raises InputError if it cannot be written, or differs from the recorded file."""
    path = cache_folder() / "models" / "random-128256.gguf"
    if path.is_file() and sha256_of(path) == _SHA256:
        return path
    words, merges = grow_words(RANDOM_128256.n_vocab - 256 - len(_SPECIAL))
    try:
        path.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            write_model(
                temporary, RANDOM_128256, make_weights(RANDOM_128256, _SPREAD), words, merges
            )
            _check(path, sha256_of(temporary))
            temporary.replace(path)  # atomic: several processes may do this at once
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error, "free space") from None
    return path


def _check(path: Path, sha256: str) -> None:
    if sha256 != _SHA256:
        problem = f"was generated with SHA-256 {sha256[:12]}..., expected {_SHA256[:12]}..."
        raise InputError(path, problem, "install the versions of locked.txt")


def write_model(
    path: Path, shape: Shape, weights: Weights, words: list[str], merges: list[str]
) -> None:
    """Write a model. Token b is byte b, for b < 256; then the words, <|bos|>, <|eos|>, <|eot|>.
    <|bos|> is put before every text. Words and merges as byte-level BPE writes them."""
    import gguf  # slow to load

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(shape.n_context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(shape.width)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    texts = [_CHAR_OF[b] for b in range(256)] + words + list(_SPECIAL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    normal = len(texts) - len(_SPECIAL)
    writer.add_token_types([int(TokenType.NORMAL)] * normal + [int(TokenType.CONTROL)] * 3)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(normal)
    writer.add_eos_token_id(normal + 1)
    writer.add_eot_token_id(normal + 2)
    writer.add_add_bos_token(True)
    for name, values in weights.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def grow_words(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Make n distinct words and the merge rule of each: an earlier word or first letter, and a
    letter.

    Words begin with a letter, a space or punctuation, and are about as long as a real vocabulary's.
    """
    letters = "etaoinshrdlcumwfgypbvkjxqz"
    starts = ["Ġ", "Ċ", *letters, *letters.upper(), *"0123456789.,:;-_()[]{}<>=\"'/#*"]
    bits = np.random.PCG64(seed)
    words: list[str] = []
    merges: list[str] = []
    stems = set(starts)
    while len(words) < n:
        for parent_bits, letter_bits in bits.random_raw(2 * n).reshape(n, 2).tolist():
            parent = parent_bits % (len(starts) + len(words))
            stem = starts[parent] if parent < len(starts) else words[parent - len(starts)]
            letter = letters[letter_bits % len(letters)]
            if stem + letter not in stems and len(words) < n:
                stems.add(stem + letter)
                words.append(stem + letter)
                merges.append(f"{stem} {letter}")
    return words, merges


def make_weights(shape: Shape, spread: float = 0.0, seed: int = 0) -> Weights:
    """Make tensors by name, matrices as [outputs, inputs].

    spread: standard deviation of a step's logits, on average over steps; 0: the last norm is 1.
    """
    bits = np.random.PCG64(seed)
    n, width = shape.n_vocab, shape.width
    weights = {
        "token_embd.weight": _normal(bits, n, width, 1.0),
        "output_norm.weight": _uneven(width, spread) if spread else np.ones(width, np.float32),
        "blk.0.attn_norm.weight": np.ones(width, np.float32),
        "blk.0.ffn_norm.weight": np.ones(width, np.float32),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down", "ffn_up"):
        weights[f"blk.0.{name}.weight"] = _normal(bits, width, width, 0.2)
    return weights


def _uneven(width: int, spread: float) -> NDArray[np.float32]:
    """Make weights that fall as 1 / sqrt(i), their squares summing to spread squared. So a few
    dimensions decide the spread of a step's logits, and steps differ in it."""
    rank = np.arange(1, width + 1)
    squares = spread**2 / rank / sum(1 / i for i in range(1, width + 1))
    return np.asarray(np.sqrt(squares), np.float32)


def _normal(
    bits: np.random.PCG64, rows: int, columns: int, deviation: float
) -> NDArray[np.float32]:
    """Draw about normal values: each the sum of four 16-bit integers, shifted and scaled."""
    raw = bits.random_raw(rows * columns).astype("<u8").view("<u2").reshape(rows, columns, 4)
    centred: NDArray[np.int32] = raw.sum(axis=2, dtype=np.int32) - 2 * 65535
    return centred.astype(np.float32) * np.float32(deviation * math.sqrt(3) / 65536)


GOLDEN = "small"
RANDOM = "random-128256"


@functools.cache
def model_path(name: str) -> Path:
    """Return the file of `small`, the golden model; of `random-128256`; or a GGUF file. Raises
    InputError.

    The golden model must be the one that the golden fixture was made with; the random one is made
    if it is missing.
    """
    if name == RANDOM:
        return random_128256_path()
    if name != GOLDEN:
        path = Path(name)
        if not path.is_file():
            fix = f"use {GOLDEN}, {RANDOM} or the path of a GGUF file"
            raise InputError(name, "no such model", fix)
        return path.resolve()
    folder = fixtures.golden_folder()
    path = folder / "model" / "small.gguf"
    entry = read_manifest(folder).get(GOLDEN)
    if not path.is_file() or not isinstance(entry, LogitsEntry):
        raise InputError(path, "missing, or not in golden/manifest.toml", "restore both")
    check_digest(path, entry.model_sha256)
    return path


def check_digest(path: Path, expected: str) -> None:
    """Raise InputError for another model than the one that the fixture was made with."""
    sha256 = sha256_of(path)
    if sha256 != expected:
        raise InputError(
            path,
            f"SHA-256 is {sha256[:12]}..., the manifest has {expected[:12]}...: another model",
            "restore the one that golden/small.gguf was made with",
        )


def n_vocab_of(name: str) -> int:
    """Return the number of tokens of a model's vocabulary. Raises InputError."""
    return len(read_vocab(model_path(name)))


def golden_prompts(per_prompt: int) -> dict[str, list[int]]:
    """Return prefixes of the golden prompts as token ids, by "PROMPT.LENGTH": per_prompt of each.

    Lengths are spread evenly from 1/per_prompt of a prompt to all of it. No prefix comes twice:
    prefixes that two prompts share, or that are too short to be cut so often, are left out.
    """
    fixture = fixtures.read(fixtures.check(fixtures.golden_folder(), GOLDEN))
    tokens = fixture.tensors["tokens"].tolist()
    names: dict[tuple[int, ...], str] = {}
    at = 0
    lengths = fixture.tensors["prompt_tokens"].tolist()
    for name, n_tokens in zip(fixture.facts["prompt_ids"], lengths, strict=True):
        for i in range(1, per_prompt + 1):
            length = max(1, n_tokens * i // per_prompt)
            names.setdefault(tuple(tokens[at : at + length]), f"{name}.{length}")
        at += n_tokens
    return {name: list(prefix) for prefix, name in names.items()}
