"""ONNX Runtime GenAI: top_p without a top_k keeps far more than the smallest set that reaches it.

    pip install onnxruntime-genai==0.18.0 onnx numpy
    python finding_48_top_p.py

A model of no layers whose every answer is one row of logits, p falling as 1 / rank; 3,000 tokens
are drawn with top_p 0.5. Expected: the smallest set of the likeliest that has half of the mass. Up
to 64 tokens that is so. From 65 on what is left out is not added up but bounded, by the last token
times their number, and the set is larger. Ends with status 1 where it is.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import TensorProto, helper, numpy_helper

TOP_P, DRAWS = 0.5, 3000


def model(row: np.ndarray) -> og.Model:
    """Answers every token with the row."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "t"])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "t", len(row)])
    nodes = [
        helper.make_node("Mul", ["input_ids", "zero"], ["index"]),
        helper.make_node("Gather", ["table", "index"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(row[np.newaxis], "table"),
        numpy_helper.from_array(np.array(0, np.int64), "zero"),
    ]
    graph = helper.make_graph(nodes, "table", [ids], [out], constants)
    opset = [helper.make_opsetid("", 17)]
    decoder = {"session_options": {}, "filename": "model.onnx", "num_hidden_layers": 0}
    decoder |= {"head_size": 1, "hidden_size": 1, "num_attention_heads": 1}
    decoder |= {"inputs": {"input_ids": "input_ids"}, "outputs": {"logits": "logits"}}
    about = {"type": "llama", "vocab_size": len(row), "context_length": 4096, "decoder": decoder}
    about |= {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": len(row)}
    with tempfile.TemporaryDirectory() as folder:
        whole = helper.make_model(graph, opset_imports=opset, ir_version=9)
        onnx.save(whole, Path(folder) / "model.onnx")
        text = json.dumps({"model": about, "search": {}})
        (Path(folder) / "genai_config.json").write_text(text)
        return og.Model(folder)


def drawn(row: np.ndarray) -> set[int]:
    """The tokens that come."""
    source = model(row)
    parameters = og.GeneratorParams(source)
    parameters.set_search_options(
        do_sample=True, top_k=0, top_p=TOP_P, random_seed=1, max_length=16
    )
    generator = og.Generator(source, parameters)
    tokens = set()
    for _ in range(DRAWS):
        generator.rewind_to(0)
        generator.append_tokens(np.array([[1]], np.int32))
        generator.generate_next_token()
        tokens.add(int(generator.get_next_tokens()[0]))
    return tokens


def main() -> int:
    print(f"onnxruntime-genai {og.__version__}, top_p {TOP_P}, p = 1 / rank, {DRAWS} draws")
    more = 0
    for n in (64, 65, 1000, 32000):
        p = 1 / np.arange(1, n + 1)
        mass = np.cumsum(p) / p.sum()
        expected = int((mass >= TOP_P).argmax()) + 1
        last = max(drawn(np.log(p).astype(np.float32))) + 1
        more += last > expected
        print(
            f"{n:>6} tokens: expected the first {expected}, {mass[expected - 1]:.3f} of the mass;"
            f" got up to the {last}., {mass[last - 1]:.3f}"
        )
    return int(more > 0)


if __name__ == "__main__":
    sys.exit(main())
