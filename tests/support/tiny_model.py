"""A model of llama's architecture that is made quickly, and its network in numpy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.inputs.models import Shape, make_weights, write_model

N_VOCAB = 320
N_CONTEXT = 64
_WIDTH = 32
_HEADS = 2
_SHAPE = Shape(N_VOCAB, _WIDTH, _HEADS, N_CONTEXT)


def write_tiny_model(
    path: Path, *, seed: int = 0, heads: int = _HEADS, scale: float = 1.0, n_embedded: int = N_VOCAB
) -> None:
    """Write a model.

    Token b is byte b, for b < 256; then 61 words that no merge makes, <|bos|>, <|eos|>, <|eot|>.

    <|bos|> (317) is put before every text. scale: multiplies the last norm, and so the logits.
    n_embedded: rows of the embedding, of which llama.cpp needs as many as tokens.
    """
    weights = make_weights(replace(_SHAPE, n_vocab=n_embedded), seed=seed)
    weights["output_norm.weight"] *= np.float32(scale)
    words = [f"word{i}" for i in range(N_VOCAB - 259)]
    write_model(path, replace(_SHAPE, heads=heads), weights, words, ["h e", "t h"])


def compute_logits(tokens: list[int]) -> NDArray[np.float64]:
    """Return the default model's logits at every position, [len(tokens), N_VOCAB], in float64."""
    w = {
        name.removeprefix("blk.0."): v.astype(np.float64)
        for name, v in make_weights(_SHAPE).items()
    }
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
    """Rotate positions: neighbouring pairs of each head as complex numbers, base 10,000."""
    size = _WIDTH // _HEADS
    pairs = x.reshape(len(x), _HEADS, size // 2, 2)
    angle = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)[:, None, :]
    return np.stack([turned.real, turned.imag], -1).reshape(len(x), _HEADS, size)
