"""OpenVINO GenAI: presence and frequency penalties pass over the prompt.

    pip install openvino-genai==2026.4.1 numpy
    python finding_55_penalties.py

repetition_penalty counts its tokens. Exit status 1 while the others do not.
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


near = pipeline([0.0, 0.0, 2.9, 3.0])
differ = 0
for name in ("repetition_penalty", "presence_penalty", "frequency_penalty"):
    (got,) = tokens(near, [3, 3], 1, **{name: 2.0})
    print(f"{name} 2, a prompt of token 3 twice\n  expected token 2\n  got      token {got}")
    differ += got != 2
sys.exit(int(differ > 0))
