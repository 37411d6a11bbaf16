"""ONNX Runtime GenAI: top_p without a top_k keeps far more than the smallest set that reaches it.

    pip install onnxruntime-genai==0.18.0 onnx numpy
    python finding_48_top_p.py

A model that answers with one row of logits, p falling as 1 / rank; 3,000 tokens are drawn with
top_p 0.5. Up to 64 tokens they are of the smallest set that has half of the mass. From 65 on what
is left out is not added up but bounded, by the last token times their number, and the set is
larger. Exit status 1 while it is.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import numpy_helper, parser

TOP_P, DRAWS = 0.5, 3000
GRAPH = """<ir_version: 9, opset_import: ["": 17]>
table (int64[b, t] input_ids) => (float[b, t, n] logits) { logits = Gather(rows, input_ids) }"""


def sampler(row: np.ndarray) -> og.Generator:
    """Return a model that answers token 0 with the row."""
    graph = parser.parse_model(GRAPH)
    graph.graph.initializer.append(numpy_helper.from_array(row[np.newaxis], "rows"))
    n = len(row)
    about = {"type": "llama", "vocab_size": n, "context_length": 16, "pad_token_id": n}
    about |= {"bos_token_id": 1, "eos_token_id": 1, "decoder": {"filename": "model.onnx"}}
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(graph, Path(folder) / "model.onnx")
        (Path(folder) / "genai_config.json").write_text(json.dumps({"model": about}))
        model = og.Model(folder)
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(do_sample=True, top_k=0, top_p=TOP_P, random_seed=1)
    return og.Generator(model, parameters)


met = True
for n in (64, 65, 1000, 32000):
    p = 1 / np.arange(1, n + 1)
    mass = np.cumsum(p) / p.sum()
    expected = int((mass >= TOP_P).argmax()) + 1
    generator = sampler(np.log(p).astype(np.float32))
    got = 0  # the last that is drawn
    for _ in range(DRAWS):
        generator.rewind_to(0)
        generator.append_tokens(np.array([[0]], np.int32))
        generator.generate_next_token()
        got = max(got, int(generator.get_next_tokens()[0]) + 1)
    print(f"top_p {TOP_P} of {n} tokens, the last of {DRAWS} draws and the mass down to it")
    print(f"  expected {expected}, {mass[expected - 1]:.3f}")
    print(f"  got      {got}, {mass[got - 1]:.3f}")
    met &= got <= expected
sys.exit(int(not met))
