"""llama-server: without an EOS token --ignore-eos is switched off, a request's ignore_eos is not.

    pip install xllamacpp gguf
    python finding_38_ignore_eos.py

xllamacpp holds llama-server's own code. Exit status 1 while a request's ignore_eos bans EOT.
"""

import json
import sys
import tempfile
import urllib.request

import gguf
import numpy as np
import xllamacpp

ZEROS = np.zeros((16, 16), np.float32)


def write(path: str) -> None:
    """Write a model with EOT and no EOS; EOT is the likeliest answer to every text."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(16)
    writer.add_block_count(1)
    writer.add_feed_forward_length(16)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("rwkv")  # has no EOS of its own
    writer.add_token_list(["t0", "t1", "<|im_end|>"])
    writer.add_token_types([1, 1, 3])
    first = np.eye(1, 16, dtype=np.float32).repeat(3, axis=0)
    writer.add_tensor("token_embd.weight", first)
    writer.add_tensor("output.weight", first * np.array([[1], [2], [3]], np.float32))
    writer.add_tensor("output_norm.weight", ZEROS[0] + np.float32(0.25))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ZEROS[0])
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", ZEROS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


parameters = xllamacpp.CommonParams()
parameters.sampling.ignore_eos = True  # --ignore-eos
with tempfile.TemporaryDirectory() as folder:
    write(f"{folder}/model.gguf")
    parameters.model.path = f"{folder}/model.gguf"
    server = xllamacpp.Server(parameters)
texts = []
for field in ({}, {"ignore_eos": True}):
    body = json.dumps({"prompt": [0], "n_predict": 4, "temperature": 0, **field}).encode()
    with urllib.request.urlopen(f"{server.listening_address}/completion", body) as answer:
        texts.append(json.load(answer)["content"])
print("the text of a request with ignore_eos, at most 4 tokens")
print(f"  expected {texts[0]!r}, as with --ignore-eos\n  got      {texts[1]!r}")
sys.exit(int(texts[0] != texts[1]))
