"""Vocabularies as GGUF files: the two small ones that the suites need, and reading any for the
reference.

The small ones are vocab-only (no weights): byte-level BPE and SentencePiece. They are made on
demand in the user's cache folder, the same to the byte every time.
"""

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache_folder import cache_folder
from sampler_parity.harness.inputs.fixtures import golden_folder
from sampler_parity.reference import Vocab
from sampler_parity.reference.vocab import _CHAR_OF, TokenType

if TYPE_CHECKING:  # it is slow to load, and most runs need no vocabulary
    import gguf

T = TypeVar("T")

_MERGED = [
    "he", "hel", "hell", "hello", "Ġw", "Ġwo", "Ġwor", "Ġworl", "Ġworld", "th", "the", "in", "ing",
    "an", "and", "er", "re", "##", "###", "ĊĊ", "::", "Ġ:", "Ġ.", "Ġt", "Ġthe", "://", '":', "**",
    "ab", "abc", "abcd", "am", "ni", "ot", "ic", "otic", "amni", "Ġ's", "Ġ?",
]  # fmt: skip

# Names that llama.cpp takes for the end of a turn or generation whatever the metadata is.
_EOT_NAMES = frozenset(
    [
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "<｜end▁of▁sentence｜>",
        "<end_of_utterance>",
    ]
)
_EOG_NAMES = _EOT_NAMES | frozenset(
    [
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "</s>",
        "<|eom_id|>",
        "[EOS]",
        "<eos>",
        "<turn|>",
        "<|tool_response>",
        "[e~[",
    ]
)


def _merges_for(words: list[str]) -> tuple[list[str], list[str]]:
    """Return merge rules that build each word left to right, and all texts that they make."""
    merges, texts = [], []
    built = set(_CHAR_OF.values())
    for word in words:
        part = word[0]
        for char in word[1:]:
            if part + char not in built:
                merges.append(f"{part} {char}")
                texts.append(part + char)
                built.add(part + char)
            part += char
    return merges, texts


def write_bpe(path: Path) -> None:
    """Write 256 bytes, a few dozen merged tokens, and <|bos|>, <|endoftext|>, <|eot_id|>."""
    merges, merged = _merges_for(_MERGED)
    texts = [_CHAR_OF[b] for b in range(256)] + merged + ["<|bos|>", "<|endoftext|>", "<|eot_id|>"]
    types = [TokenType.NORMAL] * (len(texts) - 3) + [TokenType.CONTROL] * 3
    writer = _writer(path, "gpt2", texts, types)
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(texts) - 3)
    writer.add_eos_token_id(len(texts) - 2)
    writer.add_eot_token_id(len(texts) - 1)
    _finish(writer, len(texts))


def write_spm(path: Path) -> None:
    """Write <unk>, <s>, </s>, 256 byte tokens, ASCII characters and a few dozen pieces with
    scores."""
    pieces = [chr(c) for c in range(33, 127)] + ["▁", "é", "…"]
    unique = set(pieces)
    for word in _MERGED:
        for n in range(2, len(word) + 1):
            piece = word[:n].replace("Ġ", "▁").replace("Ċ", "\n")
            if piece not in unique:
                unique.add(piece)
                pieces.append(piece)
    texts = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + pieces
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256
    types += [TokenType.NORMAL] * len(pieces)
    writer = _writer(path, "llama", texts, types)
    writer.add_token_scores([0.0] * 259 + [float(-i) for i in range(len(pieces))])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    _finish(writer, len(texts))


_WIDTH = 32


def _writer(path: Path, model: str, texts: list[str], types: list[TokenType]) -> "gguf.GGUFWriter":
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(texts)
    writer.add_token_types([int(t) for t in types])
    # llama.cpp reads these even for a vocabulary without weights
    writer.add_context_length(4096)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(texts))
    return writer


def _finish(writer: "gguf.GGUFWriter", n_vocab: int) -> None:
    """Write weights, all 0: up to b4435 `dry` takes the context size from a whole model."""
    square, line = (_WIDTH, _WIDTH), (_WIDTH,)
    shapes = {"token_embd": (n_vocab, _WIDTH), "output_norm": line}
    shapes |= {f"blk.0.{norm}": line for norm in ("attn_norm", "ffn_norm")}
    shapes |= {f"blk.0.attn_{matrix}": square for matrix in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{matrix}": square for matrix in ("gate", "down", "up")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


_BUILT_IN = {"bpe": write_bpe, "spm": write_spm}


@functools.cache
def vocab_path(name: str) -> Path:
    """Return the GGUF file of a vocabulary: `bpe`, `spm`, `small` (the golden model's), or a
    path."""
    if name not in _BUILT_IN:
        path = golden_folder() / "model" / "small.gguf" if name == "small" else Path(name)
        if not os.path.isfile(path):  # of a name of any length
            fix = "use bpe, spm, small or the path of a GGUF file"
            raise InputError(name, "no such vocabulary", fix)
        return path
    with tempfile.NamedTemporaryFile(dir=cache_folder(), delete=False) as file:
        temporary = Path(file.name)
    _BUILT_IN[name](temporary)
    path = cache_folder() / f"vocab-{name}.gguf"
    temporary.replace(path)  # atomic: several processes may do this at once
    return path


@functools.cache
def read_vocab(path: Path) -> Vocab:
    """Read the reference's vocabulary of a GGUF file. Raises InputError for one not covered."""
    from sampler_parity.harness.inputs.gguf import BoundedReader

    try:
        return _vocab(path, BoundedReader(path))
    except (ValueError, OSError, LookupError, TypeError, OverflowError) as error:
        raise InputError(path, f"not a readable GGUF file: {error}") from None


def _vocab(path: Path, reader: "gguf.GGUFReader") -> Vocab:
    model = _value(reader, "model")
    if model not in ("gpt2", "llama"):
        raise InputError(path, f"tokenizer {model!r} is not supported", "use gpt2 or llama")
    pre = _value(reader, "pre", "gpt-2")
    if model == "gpt2" and pre != "gpt-2":
        raise InputError(path, f"pre-tokenizer {pre!r} is not supported", "only gpt-2 is")
    texts = _list(reader, "tokens", str)
    eos = _id(reader, "eos", 2 if model == "llama" else 11, len(texts))
    eot = _id(reader, "eot", -1, len(texts))
    if eot == -1:
        eot = next((i for i, text in enumerate(texts) if text in _EOT_NAMES), -1)
    fim = [_id(reader, f"fim_{k}", -1, len(texts)) for k in ("pad", "rep", "sep")]
    by_text = [i for i, text in enumerate(texts) if text in _EOG_NAMES]
    merges = (merge.partition(" ")[::2] for merge in _list(reader, "merges", str, ()))
    return Vocab(
        kind="bpe" if model == "gpt2" else "spm",
        texts=texts,
        types=_list(reader, "token_type", int),
        scores=_list(reader, "scores", float, None if model == "llama" else ()),
        merges={pair: rank for rank, pair in enumerate(merges)},
        eog=frozenset(i for i in [eos, eot, *fim, *by_text] if i >= 0),
        eos=eos,
        eot=eot,
        add_space_prefix=bool(_value(reader, "add_space_prefix", model == "llama")),
    )


def _list(
    reader: "gguf.GGUFReader", key: str, kind: type[T], default: tuple[T, ...] | None = None
) -> tuple[T, ...]:
    """Read a list of one kind. Raises ValueError."""
    items = _value(reader, key, default)
    if not isinstance(items, list | tuple) or any(type(item) is not kind for item in items):
        raise ValueError(f"tokenizer.ggml.{key} is not a list of {kind.__name__}")
    return tuple(items)


def _id(reader: "gguf.GGUFReader", key: str, default: int, n_vocab: int) -> int:
    """Read a token, or -1 for none. Raises ValueError."""
    token = _value(reader, f"{key}_token_id")
    if token is None:
        return default
    if type(token) is not int or not -1 <= token < n_vocab:
        raise ValueError(f"tokenizer.ggml.{key}_token_id is not a token: {token!r:.40}")
    return token


def _value(reader: "gguf.GGUFReader", key: str, default: Any = None) -> Any:
    field = reader.get_field(f"tokenizer.ggml.{key}")
    if field is None:
        return default
    value = field.contents()
    return value.tolist() if isinstance(value, np.ndarray) else value
