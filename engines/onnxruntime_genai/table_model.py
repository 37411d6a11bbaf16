"""The table as an ONNX model for ONNX Runtime GenAI: a Gather, of no layer and so of no cache.

GenAI gives a decoder of zero layers no past, feeds it input_ids and reads logits.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_OPSET = 17
_IR = 9  # of ONNX 1.14, as old as the opset asks for: newer runtimes read it, too
_LONGEST_TEXT = 1 << 17


def write(folder: Path, rows: NDArray[np.float32], eos_token_id: Sequence[int] = (0,)) -> None:
    """Write model.onnx and genai_config.json. eos_token_id: at least one, each below n_vocab."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    n, n_vocab = rows.shape
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])
    shape = ["batch", "length", n_vocab]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
    nodes = [
        helper.make_node("Min", ["input_ids", "last"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(rows, np.float32), "table"),
        numpy_helper.from_array(np.array(n - 1, np.int64), "last"),
    ]
    graph = helper.make_graph(nodes, "table", [ids], [logits], constants)
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR)
    onnx.save(model, folder / "model.onnx")
    text = json.dumps(_configuration(n, n_vocab, list(eos_token_id)))
    (folder / "genai_config.json").write_text(text, encoding="utf-8")


def _configuration(n: int, n_vocab: int, eos_token_id: list[int]) -> dict[str, object]:
    decoder = {
        "session_options": {},
        "filename": "model.onnx",
        "head_size": 1,
        "hidden_size": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "num_hidden_layers": 0,
        "inputs": {"input_ids": "input_ids"},
        "outputs": {"logits": "logits"},
    }
    model = {
        "type": "llama",
        "bos_token_id": 0,
        "eos_token_id": eos_token_id,
        "pad_token_id": max(n, n_vocab) + 1,  # GenAI ignores padding at the end of a text
        "context_length": _LONGEST_TEXT,
        "vocab_size": n_vocab,
        "decoder": decoder,
    }
    return {"model": model, "search": {}}
