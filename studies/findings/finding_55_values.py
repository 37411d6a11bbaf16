"""OpenVINO GenAI: seeds and logits that it takes for others, and what of a prompt a penalty sees.

    pip install openvino-genai==2026.4.1 numpy
    python finding_55_values.py

A model without a state whose every answer is one row of logits. Expected: seeds that differ give
other tokens; a token of -inf is never drawn; presence and frequency penalties, as the repetition
penalty, count the prompt's tokens. Ends with status 1 where it is otherwise.
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
    names = {"input_ids": 2, "attention_mask": 2, "position_ids": 2, "beam_idx": 1}
    inputs = []
    for name, rank in names.items():
        kind = np.int64 if rank == 2 else np.int32
        inputs.append(ops.parameter([-1] * rank, kind, name))
        inputs[-1].output(0).set_names({name})
    row = ops.multiply(inputs[0], ops.constant(np.int64(0)))
    table = ops.constant(np.array([logits], np.float32))
    result = ops.result(ops.gather(table, row, ops.constant(np.int64(0))))
    result.output(0).set_names({"logits"})
    about = {"model_type": "llama", "num_hidden_layers": 1}
    ends = {"eos_token_id": 0, "bos_token_id": 0, "pad_token_id": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        openvino.save_model(
            openvino.Model([result], inputs, "table"),
            folder / "openvino_model.xml",
            compress_to_fp16=False,
        )
        (folder / "config.json").write_text(json.dumps(about))
        (folder / "generation_config.json").write_text(json.dumps(ends))
        return openvino_genai.LLMPipeline(folder, "CPU", ATTENTION_BACKEND="SDPA")


def tokens(source: Any, prompt: list[int], n: int, **options: Any) -> list[int]:
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens, config.ignore_eos = n, True
    for name, value in options.items():
        setattr(config, name, value)
    ids = np.array([prompt], np.int64)
    tensors = openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids))
    result = source.generate(openvino_genai.TokenizedInputs(*tensors), config)
    return [int(token) for token in result.tokens[0]]


def main() -> int:
    print(f"OpenVINO GenAI {openvino_genai.__version__}")
    flat = pipeline([0.0] * 50)
    small, large = (tokens(flat, [1], 8, do_sample=True, rng_seed=s) for s in (0, 2**32))
    print(f"rng_seed 0: {small}; rng_seed 2**32: expected others, got {large}")
    infinite = pipeline([0.0, float("inf"), float("-inf"), 1.0])
    drawn = tokens(infinite, [1], 200, do_sample=True, rng_seed=1)
    came = drawn.count(2)
    print(f"logits 0, inf, -inf, 1: token 2 expected never, got {came} times in 200")
    near = pipeline([0.0, 0.0, 2.9, 3.0])
    counted = []
    penalties = {"repetition_penalty": 2.0, "presence_penalty": 2.0, "frequency_penalty": 2.0}
    for name, value in penalties.items():
        (got,) = tokens(near, [3, 3], 1, **{name: value})
        counted.append(got == 2)
        print(f"{name} {value}, prompt of token 3 twice: expected 2, got {got}")
    return int(small == large or came > 0 or not all(counted))


if __name__ == "__main__":
    sys.exit(main())
