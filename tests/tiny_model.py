"""A model of llama's architecture that is made in a moment: one layer, random weights."""

from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from reference.vocab import _CHAR_OF, TokenType

N_VOCAB = 320
N_CONTEXT = 64
_WIDTH = 32
_HEADS = 2


def write_tiny_model(
    path: Path, *, seed: int = 0, heads: int = _HEADS, scale: float = 1.0, n_embedded: int = N_VOCAB
) -> None:
    """Token b is byte b, for b < 256; then 61 words that no merge makes, <|bos|>, <|eos|>, <|eot|>.

    <|bos|> (317) is put before every text. scale: multiplies the last norm, and so the logits.
    n_embedded: rows of the embedding, which llama.cpp wants to be as many as tokens.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(N_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_vocabulary(writer)
    weights = make_weights(seed, scale, n_embedded)
    for name, values in weights.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_weights(
    seed: int = 0, scale: float = 1.0, n_embedded: int = N_VOCAB
) -> dict[str, NDArray[np.float32]]:
    """Tensor name -> values, matrices as [outputs, inputs]."""
    rng = np.random.default_rng(seed)
    weights = {
        "token_embd.weight": rng.normal(0, 1, (n_embedded, _WIDTH)),
        "output_norm.weight": np.full(_WIDTH, scale),
        "blk.0.attn_norm.weight": np.ones(_WIDTH),
        "blk.0.ffn_norm.weight": np.ones(_WIDTH),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down", "ffn_up"):
        weights[f"blk.0.{name}.weight"] = rng.normal(0, 0.2, (_WIDTH, _WIDTH))
    return {name: values.astype(np.float32) for name, values in weights.items()}


def compute_logits(tokens: list[int]) -> NDArray[np.float64]:
    """The logits at every position, [len(tokens), N_VOCAB], of the default model in float64."""
    w = {name.removeprefix("blk.0."): v.astype(np.float64) for name, v in make_weights().items()}
    x = w["token_embd.weight"][tokens]
    h = _norm(x)
    q, k = (_rotate(h @ w[f"attn_{kind}.weight"].T) for kind in "qk")
    v = (h @ w["attn_v.weight"].T).reshape(len(tokens), _HEADS, -1)
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(_WIDTH / _HEADS)
    scores[:, np.triu(np.ones((len(tokens), len(tokens)), bool), 1)] = -np.inf
    weight = np.exp(scores - scores.max(-1, keepdims=True))
    weight /= weight.sum(-1, keepdims=True)
    mixed = np.einsum("hij,jhd->ihd", weight, v).reshape(len(tokens), -1)
    x = x + mixed @ w["attn_output.weight"].T
    h = _norm(x)
    gate = h @ w["ffn_gate.weight"].T
    x = x + (gate / (1 + np.exp(-gate)) * (h @ w["ffn_up.weight"].T)) @ w["ffn_down.weight"].T
    return np.asarray(_norm(x) @ w["token_embd.weight"].T)


def _norm(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5))


def _rotate(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotary positions: neighbouring pairs of each head as complex numbers, base 10,000."""
    size = _WIDTH // _HEADS
    pairs = x.reshape(len(x), _HEADS, size // 2, 2)
    angle = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)[:, None, :]
    return np.stack([turned.real, turned.imag], -1).reshape(len(x), _HEADS, size)


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    words = [f"word{i}" for i in range(N_VOCAB - 259)]
    texts = [_CHAR_OF[b] for b in range(256)] + words + ["<|bos|>", "<|eos|>", "<|eot|>"]
    types = [TokenType.NORMAL] * (N_VOCAB - 3) + [TokenType.CONTROL] * 3
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    writer.add_token_types([int(t) for t in types])
    writer.add_token_merges(["h e", "t h"])
    writer.add_bos_token_id(N_VOCAB - 3)
    writer.add_eos_token_id(N_VOCAB - 2)
    writer.add_eot_token_id(N_VOCAB - 1)
    writer.add_add_bos_token(True)
