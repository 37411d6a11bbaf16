"""llama-cpp-python: with a logits_processor, neither it nor logit_bias has an effect.

    pip install llama-cpp-python gguf
    python finding_56_logit_bias.py

The two are joined by logits_processor.extend(...), which returns None. Exit status 1 while a token
that is banned comes.
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
    llama = llama_cpp.Llama(f"{folder}/model.gguf", n_ctx=128, n_threads=1, verbose=False)
asked = {"max_tokens": 12, "temperature": 0.0, "logit_bias": {0: -1e9}}
no_op = llama_cpp.LogitsProcessorList([lambda _ids, logits: logits])
expected, got = (
    llama.create_completion([0], **asked, logits_processor=processor)["choices"][0]["text"]
    for processor in (None, no_op)
)
print("greedy, logit_bias bans t0, with a logits_processor that changes nothing")
print(f"  expected {expected}, as without it\n  got      {got}")
sys.exit(int("t0" in got))
