"""ONNX Runtime GenAI: what a text that ends in padding, and one taken back, go on with.

    pip install onnxruntime-genai==0.18.0 onnx numpy
    python finding_49_text.py

A model of no layers that answers token i with token i + 1. Expected: a text goes on with the answer
to its last token; a text taken back to n tokens has n, and what is drawn for the next is drawn
anew. Ends with status 1 where it is otherwise.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import TensorProto, helper, numpy_helper

N, PAD = 8, 5


def model(table: np.ndarray) -> og.Model:
    """Answers token i with row i."""
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "t"])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "t", N])
    node = helper.make_node("Gather", ["table", "input_ids"], ["logits"])
    constants = [numpy_helper.from_array(table.astype(np.float32), "table")]
    graph = helper.make_graph([node], "table", [ids], [out], constants)
    opset = [helper.make_opsetid("", 17)]
    decoder = {"session_options": {}, "filename": "model.onnx", "num_hidden_layers": 0}
    decoder |= {"head_size": 1, "hidden_size": 1, "num_attention_heads": 1}
    decoder |= {"inputs": {"input_ids": "input_ids"}, "outputs": {"logits": "logits"}}
    about = {"type": "llama", "vocab_size": N, "context_length": 64, "decoder": decoder}
    about |= {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": PAD}
    with tempfile.TemporaryDirectory() as folder:
        whole = helper.make_model(graph, opset_imports=opset, ir_version=9)
        onnx.save(whole, Path(folder) / "model.onnx")
        text = json.dumps({"model": about, "search": {}})
        (Path(folder) / "genai_config.json").write_text(text)
        return og.Model(folder)


def generator(source: og.Model, text: list[int], **options: object) -> og.Generator:
    parameters = og.GeneratorParams(source)
    parameters.set_search_options(max_length=64, **options)
    made = og.Generator(source, parameters)
    made.append_tokens(np.array([text], np.int32))
    return made


def padding(source: og.Model) -> bool:
    """Whether each text is answered by its last token."""
    met = True
    for text in ([1, 2, 3], [1, 2, PAD], [1, PAD, PAD], [PAD], [PAD, PAD]):
        expected = np.eye(N)[(text[-1] + 1) % N]
        got = np.array(generator(source, text).get_logits()).reshape(-1)
        met &= bool(np.array_equal(got, expected))
        print(f"  {text}: expected the answer to {text[-1]}, {expected.astype(int)}; got {got}")
    return met


def taken_back() -> bool:
    """Whether a text that is taken back is as long as it should be, and its next token is new."""
    uniform = model(np.zeros((N, N)))
    again = 0
    for seed in range(100):
        made = generator(uniform, [1], do_sample=True, top_k=0, top_p=1.0, random_seed=seed)
        made.generate_next_token()
        first = int(made.get_next_tokens()[0])
        if first == 0:  # the end, which is not appended
            continue
        made.rewind_to(1)
        made.generate_next_token()
        text = made.get_sequence(0).tolist()
        again += text[1] == first
    print(f"  [1] and a token, taken back to [1], generated once: {len(text)} tokens, expected 2")
    print(f"  of 8 equal tokens the one taken back comes again {again} times, expected about 12")
    return len(text) == 2 and again < 50


def main() -> int:
    print(f"onnxruntime-genai {og.__version__}")
    print(f"a text whose end is pad_token_id, {PAD}:")
    met = padding(model(np.roll(np.eye(N), 1, axis=1)))
    print("rewind_to(1):")
    return int(not (taken_back() and met))


if __name__ == "__main__":
    sys.exit(main())
