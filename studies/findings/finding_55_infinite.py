"""OpenVINO GenAI: with a logit of +inf every token is drawn, one of -inf too.

    pip install openvino-genai==2026.4.1 numpy
    python finding_55_infinite.py

Exit status 1 while it is so.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai
from openvino import opset13 as ops


def pipeline(logits: list[float]) -> Any:
    """Return a pipeline with a stateless model whose every answer is this row."""
    names = {"input_ids": 2, "attention_mask": 2, "position_ids": 2, "beam_idx": 1}
    inputs = []
    for name, rank in names.items():
        inputs.append(ops.parameter([-1] * rank, np.int64 if rank == 2 else np.int32, name))
        inputs[-1].output(0).set_names({name})
    row = ops.multiply(inputs[0], ops.constant(np.int64(0)))
    table = ops.constant(np.array([logits], np.float32))
    result = ops.result(ops.gather(table, row, ops.constant(np.int64(0))))
    result.output(0).set_names({"logits"})
    model = openvino.Model([result], inputs, "table")
    about = {"model_type": "llama", "num_hidden_layers": 1}
    ends = {"eos_token_id": 0, "bos_token_id": 0, "pad_token_id": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        openvino.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
        (folder / "config.json").write_text(json.dumps(about))
        (folder / "generation_config.json").write_text(json.dumps(ends))
        return openvino_genai.LLMPipeline(folder, "CPU", ATTENTION_BACKEND="SDPA")


def tokens(source: Any, prompt: list[int], n: int, **options: Any) -> list[int]:
    ids = np.array([prompt], np.int64)
    tensors = openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids))
    result = source.generate(
        openvino_genai.TokenizedInputs(*tensors), max_new_tokens=n, ignore_eos=True, **options
    )
    return [int(token) for token in result.tokens[0]]


infinite = pipeline([0.0, float("inf"), float("-inf"), 1.0])
came = tokens(infinite, [1], 200, do_sample=True, rng_seed=1).count(2)
print("logits 0, inf, -inf, 1: how often token 2 comes in 200")
print(f"  expected 0\n  got      {came}")
sys.exit(int(came > 0))
