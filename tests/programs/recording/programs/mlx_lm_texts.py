"""`python mlx_lm_texts.py FOLDER [FAULT]`: print texts that MLX LM generates."""

import json
import sys
from typing import Any

import mlx.core as mx
import mlx_lm
from mlx_lm import sample_utils

LENGTH = 24
CHAINS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "defaults": ({}, {}),
    "filters": ({"temp": 0.8, "top_k": 40, "top_p": 0.9}, {}),
    "min_p": ({"temp": 1.3, "min_p": 0.05, "min_tokens_to_keep": 2}, {}),
    "xtc": ({"temp": 1.0, "xtc_probability": 0.5, "xtc_threshold": 0.05}, {}),
    "repetition": ({"temp": 0.7, "top_k": 30}, {"repetition_penalty": 1.3}),
    "three penalties": (
        {"temp": 0.9, "top_p": 0.95},
        {
            "repetition_penalty": 1.1,
            "presence_penalty": 0.4,
            "frequency_penalty": 0.2,
            "frequency_context_size": 8,
        },
    ),
    "biases": ({"temp": 0.9}, {"logit_bias": {305: 4.0, 306: -3.0}, "presence_penalty": 0.5}),
    "hot": ({"temp": 1.5}, {}),
}


def plant(fault: str) -> None:
    top_k, top_p = sample_utils.apply_top_k, sample_utils.apply_top_p
    penalty = sample_utils.make_repetition_penalty
    faults: dict[str, Any] = {
        "k plus one": ("apply_top_k", lambda scores, k: top_k(scores, k + 1)),
        "top_p is another": ("apply_top_p", lambda scores, p: top_p(scores, 0.5 * p)),
        "the history is shifted by one": (
            "make_repetition_penalty",
            lambda *arguments: lambda tokens, x: penalty(*arguments)(tokens[:-1], x),
        ),
    }
    setattr(sample_utils, *faults[fault])


def main() -> None:
    mx.set_default_device(mx.cpu)
    mx.disable_compile()  # it would compile C++ for every new temperature
    for fault in sys.argv[2:]:
        plant(fault)
    model, tokenizer = mlx_lm.load(sys.argv[1])
    texts = {}
    for seed, (name, (sampler, processors)) in enumerate(CHAINS.items(), 1):
        mx.random.seed(seed)
        texts[name] = mlx_lm.generate(
            model,
            tokenizer,
            "The story begins",
            max_tokens=LENGTH,
            sampler=sample_utils.make_sampler(**sampler),
            logits_processors=sample_utils.make_logits_processors(**processors),
        )
    texts["without a sampler"] = mlx_lm.generate(model, tokenizer, "Once", max_tokens=LENGTH)
    print(json.dumps(texts, indent=1))


if __name__ == "__main__":
    main()
