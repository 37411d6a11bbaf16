"""The table as a GGUF model of llama's architecture, for what is built on llama.cpp.

The embedding of a token is one large number at the position of its row. One layer of zeros adds
nothing to it; the norm makes exactly 1 of it, because the width is a power of 4. The output matrix
has the rows as its columns: a logit is its number, times 1, plus zeros. Denormals come through. So
do infinities and NaN in a single row: next to others each would be multiplied by 0. -0.0 comes back
as 0.0 and is refused, as are infinities in two rows or more.

Tokens are t0, t1, ... of a tokenizer without special tokens, so that no text ends. llama.cpp of
2024 does not know it: use `words` there. The output matrix is the end of the file.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError

FILE = "model.gguf"
WIDTH = 16  # of a table of up to 16 rows
BETWEEN_WORDS = "0"  # keeps words apart, and is no token itself
_LARGE = 2.0**20  # its square makes the norm's 1e-5 nothing
_LONGEST_TEXT = 1 << 17
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_BYTES = str.maketrans({" ": "\u0120", "\u010a": "\u00c4\u012c"})  # as GPT-2 writes these bytes


def word(token: int) -> str:
    """Return a token's text. Token 0 is the newline that GPT-2's tokenizer must have, which here
    ends a text; any other is a blank and letters, because digits and signs would be split."""
    return f" {np.base_repr(token, 16).lower().translate(_LETTERS)}" if token else "\u010a"


def write(folder: Path, rows: NDArray[np.float32], words: bool = False) -> None:
    """Write the model. words: token i is word(i), of GPT-2's tokenizer. Raises InputError for
    rows that would not come back to the bit."""
    import gguf  # slow to load

    _check(rows)
    n, n_vocab = rows.shape
    width = max(WIDTH, 4 ** (int(n - 1).bit_length() + 1 >> 1))
    writer = gguf.GGUFWriter(folder / FILE, "llama")
    writer.add_context_length(_LONGEST_TEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(width)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(n_vocab)
    (_words if words else _numbers)(writer, n_vocab)
    writer.add_token_types([int(gguf.TokenType.NORMAL)] * n_vocab)
    for name, values in _tensors(rows, width).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _numbers(writer: Any, n_vocab: int) -> None:
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list([f"t{token}" for token in range(n_vocab)])


def _words(writer: Any, n_vocab: int) -> None:
    """Name the special tokens: else they are 11, even in a smaller vocabulary."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")  # a word that is a token is one, without merges
    writer.add_token_list([word(token).translate(_BYTES) for token in range(n_vocab)])
    writer.add_token_merges(["a a"])
    writer.add_add_bos_token(False)
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id):
        add(0)


def _check(rows: NDArray[np.float32]) -> None:
    for row, token in np.argwhere((rows == 0) & np.signbit(rows)):
        raise InputError(f"row {row}, token {token}", "-0.0 comes back as 0.0", "write 0.0")
    if len(rows) > 1:
        for row, token in np.argwhere(~np.isfinite(rows)):
            problem = f"{rows[row, token]} next to other rows: they would get it, too"
            raise InputError(f"row {row}, token {token}", problem, "make a table of this row alone")


def _tensors(rows: NDArray[np.float32], width: int) -> dict[str, NDArray[np.float32]]:
    n, n_vocab = rows.shape
    embedding = np.zeros((n_vocab, width), np.float32)
    tokens = np.arange(n_vocab)
    embedding[tokens, np.minimum(tokens, n - 1)] = _LARGE
    output = np.zeros((n_vocab, width), np.float32)
    output[:, :n] = rows.T
    zeros = np.zeros((width, width), np.float32)
    layer = {f"blk.0.{name}.weight": zeros for name in _MATRICES}
    norms = {f"blk.0.{name}_norm.weight": np.ones(width, np.float32) for name in ("attn", "ffn")}
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": np.full(width, width**-0.5, np.float32),
        **norms,
        **layer,
        "output.weight": output,
    }


_MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
