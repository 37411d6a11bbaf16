"""llama-cpp-python: a temperature below 0 passes over every filter, and draws at temperature 1.

    pip install llama-cpp-python gguf
    python finding_56_temperature.py

Expected with top_k 1: the likeliest token alone, or an error. Exit status 1 while others come.
"""

import sys
import tempfile
from collections import Counter

import gguf
import llama_cpp
import numpy as np

LOGITS = np.array([2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5], np.float32)
ZEROS = np.zeros((16, 16), np.float32)


def write(path: str) -> None:
    """Write a model that answers every text with these logits."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(16)
    writer.add_block_count(1)
    writer.add_feed_forward_length(16)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list([f"t{token}" for token in range(8)])
    writer.add_token_types([1] * 8)
    first = np.eye(1, 16, dtype=np.float32).repeat(8, axis=0)
    writer.add_tensor("token_embd.weight", first * np.float32(2**20))
    writer.add_tensor("output.weight", first * LOGITS[:, None])
    writer.add_tensor("output_norm.weight", ZEROS[0] + np.float32(0.25))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ZEROS[0])
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", ZEROS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


with tempfile.TemporaryDirectory() as folder:
    write(f"{folder}/model.gguf")
    llama = llama_cpp.Llama(f"{folder}/model.gguf", n_ctx=128, n_threads=1, verbose=False)
drawn: Counter[str] = Counter()
for seed in range(40):
    answer = llama.create_completion([0], max_tokens=1, temperature=-1.0, top_k=1, seed=seed)
    drawn[answer["choices"][0]["text"]] += 1
print("temperature -1 and top_k 1, the first token of 40 seeds")
print(f"  expected t0 40 times\n  got      {dict(sorted(drawn.items()))}")
sys.exit(int(set(drawn) != {"t0"}))
