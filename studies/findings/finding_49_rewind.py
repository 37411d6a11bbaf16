"""ONNX Runtime GenAI: a text that is taken back and goes on keeps the token that was taken back.

    pip install onnxruntime-genai==0.18.0 onnx numpy
    python finding_49_rewind.py

A model that answers with 7 equal tokens. rewind_to(1) and generate_next_token feed the token that
stood at 1 again before they sample: the text is one token too long, and that token is never drawn
anew. Exit status 1 while that happens.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import numpy_helper, parser

GRAPH = """<ir_version: 9, opset_import: ["": 17]>
table (int64[b, t] input_ids) => (float[b, t, 8] logits) { logits = Gather(rows, input_ids) }"""

graph = parser.parse_model(GRAPH)
rows = np.zeros((8, 8), np.float32)
rows[:, 0] = -np.inf  # the end
graph.graph.initializer.append(numpy_helper.from_array(rows, "rows"))
about = {"type": "llama", "vocab_size": 8, "context_length": 64, "pad_token_id": 5}
about |= {"bos_token_id": 0, "eos_token_id": 0, "decoder": {"filename": "model.onnx"}}
with tempfile.TemporaryDirectory() as folder:
    onnx.save(graph, Path(folder) / "model.onnx")
    (Path(folder) / "genai_config.json").write_text(json.dumps({"model": about}))
    model = og.Model(folder)

lengths = set()
again = 0
for seed in range(100):
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(do_sample=True, top_k=0, top_p=1.0, random_seed=seed)
    generator = og.Generator(model, parameters)
    generator.append_tokens(np.array([[1]], np.int32))
    generator.generate_next_token()
    first = generator.get_sequence(0)[1]
    generator.rewind_to(1)
    generator.generate_next_token()
    text = generator.get_sequence(0)
    lengths.add(len(text))
    again += int(text[1] == first)
print("[1] and a token, taken back to [1], one generated: how many tokens the text has")
print(f"  expected {{2}}\n  got      {lengths}")
print("of 100 such texts, in how many the token that was taken back comes again")
print(f"  expected about {100 / 7:.0f}\n  got      {again}")
sys.exit(int(lengths != {2} or again > 50))
