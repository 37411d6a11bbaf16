"""Texts of 64 tokens: 20 prompts x 6 chains, on the logits that the golden model gave.

The rows are those of golden/small.gguf, from the prompt's first one on. Two of the chains take them
rounded to float16, in which they tie. A drawn token is accepted and changes no row, so a text shows
only the samplers and their state.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.inputs.fixtures import golden_folder, read
from tests.support.platform_cases import Chain

PROMPTS, TOKENS = 20, 64


def _penalties(repeat: float, freq: float, present: float) -> dict[str, dict[str, Any]]:
    return {
        "penalties": {
            "penalty_last_n": 64,
            "penalty_repeat": repeat,
            "penalty_freq": freq,
            "penalty_present": present,
        }
    }


def chains(seed: int) -> dict[str, Chain]:
    top_k, top_p = {"top_k": {"k": 40}}, {"top_p": {"p": 0.95, "min_keep": 1}}
    min_p, temp = {"min_p": {"p": 0.05, "min_keep": 1}}, {"temp": {"temp": 0.8}}
    dist = {"dist": {"seed": seed}}
    mirostat = {"seed": seed, "tau": 5.0, "eta": 0.1}
    dynamic = {"temp_ext": {"temp": 1.0, "delta": 0.6, "exponent": 1.0}}
    adaptive = {"adaptive_p": {"target": 0.3, "decay": 0.9, "seed": seed}}
    return {
        "default": [_penalties(1.0, 0.0, 0.0), top_k, top_p, min_p, temp, dist],
        "penalties, dynamic temperature": [_penalties(1.1, 0.37, 0.21), top_k, dynamic, dist],
        "typical_p": [{"typical_p": {"p": 0.9, "min_keep": 1}}, temp, dist],
        "mirostat": [temp, {"mirostat": mirostat | {"m": 100}}],
        "mirostat_v2": [temp, {"mirostat_v2": mirostat}],
        "adaptive_p": [min_p, adaptive],
    }


HALF = {"default", "typical_p"}


@functools.cache
def _golden() -> tuple[NDArray[np.float32], NDArray[np.int32], list[list[int]]]:
    """Return rows, the prompt of each row, and the tokens of each prompt."""
    fixture = read(golden_folder() / "small.gguf")
    tensors = fixture.tensors
    ends = np.cumsum(tensors["prompt_tokens"])
    tokens = np.split(tensors["tokens"], ends[:-1])
    return tensors["logits"], tensors["prompt"], [part.tolist() for part in tokens]


def text(worker: Any, name: str, prompt: int) -> list[int]:
    """Return the tokens of a text, by any worker in Python."""
    logits, prompts, tokens = _golden()
    start = int(np.argmax(prompts == prompt))
    instance = worker.build(chains(seed=prompt)[name], logits.shape[1], None)
    for token in tokens[prompt]:
        instance.accept(token)
    drawn = []
    for step in range(TOKENS):
        row = logits[(start + step) % len(logits)]
        row = row.astype(np.float16).astype(np.float32) if name in HALF else row
        candidates = worker.candidates(row)
        instance.apply(None, candidates)
        ids, *_, selected = worker.result(candidates)
        drawn.append(int(ids[selected]))
        instance.accept(drawn[-1])
    return drawn


def texts(worker: Any) -> dict[tuple[str, int], list[int]]:
    """Return all texts by chain and prompt."""
    return {(name, i): text(worker, name, i) for name in chains(0) for i in range(PROMPTS)}
