"""The table as a CTranslate2 model: a decoder of zero weights whose last bias is the logits.

One row, because the bias is the same after every token. CTranslate2 requires a layer: one of width
1 that adds zero. 0 + bias is exact, except that -0.0 becomes 0.0.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError

LONGEST_TEXT = 1 << 14


def write(folder: Path, rows: NDArray[np.float32]) -> None:
    """Write model.bin, config.json, vocabulary.json: token i is the text of i. Raises
    InputError."""
    if len(rows) != 1:
        raise InputError("table model", f"{len(rows)} rows, CTranslate2's holds one", "give one")
    from ctranslate2.specs import transformer_spec

    n_vocab = rows.shape[1]
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        1, 1, pre_norm=True, no_final_norm=True
    )
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = _zeros(n_vocab, 1)
    decoder.position_encodings.encodings = _zeros(LONGEST_TEXT, 1)
    decoder.projection.weight = _zeros(n_vocab, 1)
    decoder.projection.bias = np.ascontiguousarray(rows[0], np.float32)
    _layer(decoder.layer[0])
    spec.register_vocabulary([str(token) for token in range(n_vocab)])
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
    spec.validate()
    spec.save(str(folder))


def _layer(layer: Any) -> None:
    attention, ffn = layer.self_attention, layer.ffn
    for norm in (attention.layer_norm, ffn.layer_norm):
        norm.gamma = norm.beta = _zeros(1)
    for linear, width in ((attention.linear[0], 3), (attention.linear[1], 1)):
        linear.weight, linear.bias = _zeros(width, 1), _zeros(width)
    for linear in (ffn.linear_0, ffn.linear_1):
        linear.weight, linear.bias = _zeros(1, 1), _zeros(1)


def _zeros(*shape: int) -> NDArray[np.float32]:
    return np.zeros(shape, np.float32)
