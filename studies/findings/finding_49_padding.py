"""ONNX Runtime GenAI: a text that ends in padding is answered as if it ended elsewhere.

    pip install onnxruntime-genai==0.18.0 onnx numpy
    python finding_49_padding.py

A model that answers token i with token i + 1. The logits are taken at the last token that is not
pad_token_id; of two that both are, at the place before the first: what lies there in memory. Exit
status 1 while a text is not answered by its last token.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import numpy_helper, parser

N, PAD = 8, 5
GRAPH = """<ir_version: 9, opset_import: ["": 17]>
table (int64[b, t] input_ids) => (float[b, t, 8] logits) { logits = Gather(rows, input_ids) }"""

rows = np.roll(np.eye(N, dtype=np.float32), 1, axis=1)
graph = parser.parse_model(GRAPH)
graph.graph.initializer.append(numpy_helper.from_array(rows, "rows"))
about = {"type": "llama", "vocab_size": N, "context_length": 64, "pad_token_id": PAD}
about |= {"bos_token_id": 0, "eos_token_id": 0, "decoder": {"filename": "model.onnx"}}
with tempfile.TemporaryDirectory() as folder:
    onnx.save(graph, Path(folder) / "model.onnx")
    (Path(folder) / "genai_config.json").write_text(json.dumps({"model": about}))
    model = og.Model(folder)

met = True
for text in ([1, 2, 3], [1, 2, PAD], [1, PAD, PAD], [PAD], [PAD, PAD]):
    generator = og.Generator(model, og.GeneratorParams(model))
    generator.append_tokens(np.array([text], np.int32))
    got = generator.get_logits().reshape(-1)
    print(f"the text {text}, with pad_token_id {PAD}")
    print(f"  expected {rows[text[-1]]}\n  got      {got}")
    met &= np.array_equal(got, rows[text[-1]])
sys.exit(int(not met))
