"""`python transformers_texts.py FOLDER [FAULT]`: print texts that transformers generates."""

import json
import sys
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

LENGTH = 24
CHAINS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "filters": {"temperature": 0.8, "top_k": 40, "top_p": 0.9},
    "min_p": {"temperature": 1.3, "top_k": 0, "min_p": 0.05},
    "repetition": {"repetition_penalty": 1.3, "top_k": 30},
    "typical": {"top_k": 0, "typical_p": 0.7},
    "bans": {"bad_words_ids": [[300], [301, 302]], "no_repeat_ngram_size": 2, "min_new_tokens": 8},
    "biases": {"sequence_bias": [[[305], 4.0], [[306, 307], -3.0]], "min_length": 20},
    "defaults": {},
}


def plant(fault: str) -> None:
    of: Any = {
        "k plus one": transformers.TopKLogitsWarper,
        "top_p is skipped": transformers.TopPLogitsWarper,
        "the history is shifted by one": transformers.RepetitionPenaltyLogitsProcessor,
        "the last survivor is lost": transformers.MinPLogitsWarper,
    }[fault]
    right = of.__call__

    def wrong(self: Any, input_ids: Any, scores: Any) -> Any:
        if fault == "k plus one":
            return right(transformers.TopKLogitsWarper(self.top_k + 1), input_ids, scores)
        if fault == "top_p is skipped":
            return scores
        if fault == "the history is shifted by one":
            return right(self, input_ids[:, :-1], scores)
        left = right(self, input_ids, scores)
        least = left.masked_fill(left == -torch.inf, torch.inf).argmin(-1, keepdim=True)
        return left.scatter(-1, least, -torch.inf)

    of.__call__ = wrong


def main() -> None:
    torch.set_num_threads(1)
    for fault in sys.argv[2:]:
        plant(fault)
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    tokenizer.padding_side = "left"
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
    texts = {}
    for seed, (name, settings) in enumerate(CHAINS.items(), 1):
        texts[name] = generate(tokenizer, model, ["The story begins"], seed, settings)
    two = ["Once upon a time there was", "The"]
    settings = {"repetition_penalty": 1.2, "temperature": 0.9, "top_p": 0.95}
    texts["two rows"] = generate(tokenizer, model, two, 20, settings)
    print(json.dumps(texts, indent=1))


def generate(
    tokenizer: Any, model: Any, prompts: list[str], seed: int, settings: dict[str, Any]
) -> list[str]:
    set_seed(seed)
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    settings = {"do_sample": True, "max_new_tokens": LENGTH, "eos_token_id": 2} | settings
    made = model.generate(**inputs, pad_token_id=tokenizer.pad_token_id, **settings)
    return [str(text) for text in tokenizer.batch_decode(made)]


if __name__ == "__main__":
    main()
