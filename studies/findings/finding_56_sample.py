"""llama-cpp-python: Llama.sample rebuilds its chain at each call, or continues with another one's.

    pip install llama-cpp-python gguf
    python finding_56_sample.py

In a fresh Llama a penalty sees no token that it sampled; behind a completion no argument has an
effect. Exit status 1 while tokens are others.
"""

import sys
import tempfile

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
    fresh, used = (
        llama_cpp.Llama(f"{folder}/model.gguf", n_ctx=128, n_threads=1, verbose=False)
        for _ in range(2)
    )
fresh.eval([7])
used.create_completion([7], max_tokens=1, temperature=2.0, seed=1)
asked = {"temp": 0.0, "presence_penalty": 9.0}
got = [[llama.sample(**asked) for _ in range(3)] for llama in (fresh, used)]
print("Llama.sample thrice, greedy, presence_penalty 9, of a fresh Llama and behind a completion")
print(f"  expected [0, 1, 2] and [0, 1, 2]\n  got      {got[0]} and {got[1]}")
sys.exit(int(got != [[0, 1, 2]] * 2))
