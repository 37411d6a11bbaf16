"""Arguments of llama-cpp-python 0.3.36 that do nothing, or something else. The package alone, and
gguf, which writes a model that answers every text with one row of logits:

python studies/findings/finding_56_arguments.py
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable

import gguf
import llama_cpp
import numpy as np

LOGITS = np.array([2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5], np.float32)
WIDTH = 16


def write(path: str) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(LOGITS))
    writer.add_tokenizer_model("rwkv")
    writer.add_token_list([f"t{token}" for token in range(len(LOGITS))])
    writer.add_token_types([1] * len(LOGITS))
    first = np.zeros((len(LOGITS), WIDTH), np.float32)
    first[:, 0] = 1
    writer.add_tensor("token_embd.weight", first * np.float32(2**20))
    writer.add_tensor("output.weight", first * LOGITS[:, None])
    writer.add_tensor("output_norm.weight", np.full(WIDTH, 0.25, np.float32))
    for name in ("attn", "ffn"):
        writer.add_tensor(f"blk.0.{name}_norm.weight", np.ones(WIDTH, np.float32))
    zeros = np.zeros((WIDTH, WIDTH), np.float32)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", zeros)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(path: str, **of: int) -> llama_cpp.Llama:
    return llama_cpp.Llama(path, n_ctx=128, n_threads=1, verbose=False, **of)


def text(llama: llama_cpp.Llama, **of: object) -> str:
    answer = llama.create_completion([0], max_tokens=12, **of)
    return str(answer["choices"][0]["text"])


def show(what: str, expected: str, got: object, met: bool) -> bool:
    print(f"{what}\n  expected  {expected}\n  got       {got}")
    return met


def counted(tokens: Iterable[str]) -> str:
    return ", ".join(f"{token}: {n}" for token, n in sorted(Counter(tokens).items()))


def nothing(ids: object, scores: object) -> object:
    return scores


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.gguf"
        write(path)
        llama = load(path)
        ban, no_op = {0: -1e9}, llama_cpp.LogitsProcessorList([nothing])
        greedy = {"temperature": 0.0, "logit_bias": ban}
        banned = text(llama, **greedy)
        met = [show("logit_bias bans t0, greedy", "t1t1t1...", banned, "t0" not in banned)]
        both = text(llama, **greedy, logits_processor=no_op)
        what = "the same beside a logits_processor that changes nothing"
        met.append(show(what, "t1t1t1...", both, "t0" not in both))
        same = {text(load(path)) for _ in range(5)}
        what = "Llama() without a seed, five times, one completion each"
        met.append(show(what, "5 texts", f"{len(same)} text", len(same) == 5))
        same.add(text(load(path, seed=0)))
        met.append(show("and with Llama(seed=0)", "another", f"{len(same)} text", len(same) > 1))
        drawn = [text(llama, temperature=-1.0, top_k=1, seed=n)[:2] for n in range(40)]
        what = "temperature -1 with top_k 1, 40 seeds"
        met.append(show(what, "t0: 40, or an error", counted(drawn), set(drawn) == {"t0"}))
        fresh = load(path)
        fresh.eval([0])
        greedy_of = {"temp": 0.0, "presence_penalty": 9.0}
        for who, what in ((fresh, "of a fresh Llama"), (llama, "behind a completion")):
            sampled = [who.sample(**greedy_of) for _ in "abc"]
            what = f"Llama.sample thrice, greedy, presence_penalty 9, {what}"
            met.append(show(what, "[0, 1, 2]", sampled, sampled == [0, 1, 2]))
    return int(not all(met))


sys.exit(main())
