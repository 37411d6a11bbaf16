"""`python vllm_texts.py FOLDER [FAULT]`: print texts that vLLM generates on the CPU."""

import json
import os
import sys
from typing import Any

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_CONFIGURE_LOGGING": "0",
    "GLOO_SOCKET_IFNAME": "lo",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
}
if len(sys.argv) > 2:  # a fault is planted in this process alone
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

from vllm import LLM, SamplingParams
from vllm.v1.sample import sampler
from vllm.v1.sample.ops import topk_topp_sampler

CHAINS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "filters": {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "seed": 2},
    "min_p": {"temperature": 1.3, "min_p": 0.05, "seed": 3},
    "penalties": {
        "temperature": 0.9,
        "repetition_penalty": 1.2,
        "frequency_penalty": 0.2,
        "presence_penalty": 0.4,
        "seed": 4,
    },
    "bans": {"bad_words": ["the", "a list"], "min_tokens": 20, "top_k": 50, "seed": 5},
    "biases": {"logit_bias": {305: 4.0, 306: -3.0}, "top_p": 0.95, "seed": 6},
    "allowed": {"allowed_token_ids": list(range(300, 600)), "temperature": 0.7, "seed": 7},
    "greedy with penalties": {"temperature": 0.0, "repetition_penalty": 1.3},
    "defaults": {"seed": 9},
}


def plant(fault: str) -> None:
    filters, penalties = topk_topp_sampler.apply_top_k_top_p, sampler.apply_all_penalties
    if fault == "k plus one":
        topk_topp_sampler.apply_top_k_top_p = lambda logits, k, p: filters(
            logits, None if k is None else (k + 1).clamp(max=logits.shape[1]), p
        )
    elif fault == "min_p is skipped":
        builtin = sys.modules["vllm.v1.sample.logits_processor.builtin"]
        builtin.MinPLogitsProcessor.apply = lambda self, logits: logits
    elif fault == "the history is shifted by one":
        sampler.apply_all_penalties = lambda *given: penalties(
            *given[:-1], [tokens[:-1] for tokens in given[-1]]
        )


def main() -> None:
    for fault in sys.argv[2:]:
        plant(fault)
    model = LLM(sys.argv[1], dtype="float32", max_model_len=256, enforce_eager=True, seed=1)
    params = [SamplingParams(max_tokens=24, **settings) for settings in CHAINS.values()]
    prompts = [f"The story number {i} begins" for i in range(len(params))]
    texts = [made.outputs[0].text for made in model.generate(prompts, params, use_tqdm=False)]
    # Without a seed a draw depends on how requests meet in a batch: its text is not printed.
    model.generate(prompts[:1], SamplingParams(max_tokens=8), use_tqdm=False)
    alone = model.generate(prompts[1:2], params[1:2], use_tqdm=False)[0].outputs[0].text
    print(json.dumps(dict(zip(CHAINS, texts, strict=True)) | {"alone": alone}, indent=1))


if __name__ == "__main__":
    main()
