"""What the statements are for known engines, and which of these a server resembles most.

ENGINES holds what was seen where `seen` says so, else what the source says. A statement that is not
told, of the server or of the engine, does not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sampler_parity.harness.servers.fingerprint.probe import CANNOT
from sampler_parity.reference.pipelines.common_chain import DEFAULT_ORDER

ENOUGH = 8  # statements that both tell
_LIKE = 0.8  # of them: less resembles nothing known


@dataclass(frozen=True)
class Engine:
    """seen: whether a server of it was asked, or its source read."""

    name: str
    seen: bool
    says: Mapping[str, str]


@dataclass(frozen=True)
class Resemblance:
    """differs: statements with what the engine's are."""

    engine: Engine
    equal: int
    told: int
    differs: tuple[str, ...]


def resemblances(said: Mapping[str, str]) -> list[Resemblance]:
    """The most alike first."""
    rows = [_resemblance(engine, said) for engine in ENGINES]
    return sorted(rows, key=lambda row: (-row.equal / max(row.told, 1), -row.told))


def _resemblance(engine: Engine, said: Mapping[str, str]) -> Resemblance:
    told = [name for name in engine.says if said.get(name, CANNOT) != CANNOT]
    differs = [name for name in told if said[name] != engine.says[name]]
    lines = tuple(f"{name}: {said[name]}, there {engine.says[name]}" for name in differs)
    return Resemblance(engine, len(told) - len(differs), len(told), lines)


def alike(rows: list[Resemblance]) -> list[Resemblance]:
    """Those that a server resembles most: several where nothing tells them apart."""
    if not rows:
        return []
    best = rows[0]
    if best.told < ENOUGH or best.equal < _LIKE * best.told:
        return []
    share = best.equal / best.told
    return [row for row in rows if row.told >= ENOUGH and row.equal / row.told == share]


def release(said: Mapping[str, str]) -> tuple[str, str]:
    """Of llama.cpp, by what came and went: a range of releases, and why. Where the samplers' names
    and meanings are from: reference/releases.py and signatures.py of the llama.cpp backend."""
    oldest, newest, why = "", "", []
    for name, answer, since, until in _RELEASES:
        if said.get(name) == answer:
            why.append(f"{name}: {answer}")
            oldest, newest = since or oldest, until or newest
    if not (oldest or newest):
        return CANNOT, "no statement that changed between releases is told"
    words = [f"{oldest} or later" if oldest else "", f"{newest} or earlier" if newest else ""]
    return ", ".join(word for word in words if word), "; ".join(why)


# Of each statement the releases that it allows; the oldest bound last, the newest first.
_RELEASES = (
    ("top_n_sigma", "has an effect", "b4753", ""),
    ("typical_p 0", "one token", "b5590", ""),
    ("adaptive_target", "has an effect", "b7836", ""),
    ("dry_penalty_last_n -1", "off", "b10361", ""),
    ("dry_penalty_last_n -1", "refused", "b10361", ""),  # the context was documented before
    ("dry_penalty_last_n -1", "all of the context", "", "b10068"),
    ("adaptive_target", "has no effect", "", "b6673"),
    ("typical_p 0", "more than one token", "", "b4980"),
)

_LLAMA_CPP = {
    "temperature 0": "one text",
    "penalties and temperature": "penalties first",
    "penalties and top_k": "penalties first",
    "logit_bias and top_k": "logit_bias first",
    "temperature and top_p": "top_p first",
    "temperature and min_p": "min_p first",
    "top_k and top_p": "top_k first",
    "min_p and top_p": "top_p first",
    "the token that crosses top_p": "kept",
    "frequency_penalty": "per occurrence",
    "presence_penalty": "once per token",
    "repetition penalty": "once per token",
    "logit_bias and repetition penalty": "logit_bias first",
    "seed": "repeats",
    "seed -1": "another text each time",
    "unknown names": "taken in silence",
    "top_k 0": "everything",
    "top_p 0": "one token",
    "logprobs and temperature": "before",
    "logprobs and top_k": "before",
    "logprobs and logit_bias": "before",
    "default temperature": "0.8",
    "default top_k": "40",
    "default top_p": "0.95",
    "default min_p": "0.05",
}
_LLAMA_SERVER = {
    **_LLAMA_CPP,
    "prompt, for frequency_penalty": "counts",
    "prompt, for the repetition penalty": "counts",
    "order of samplers": ", ".join(DEFAULT_ORDER),
    "temperature -1": "one text",
    "top_k -1": "everything",
    "typical_p 0": "one token",
    "min_keep": "keeps more",
    "dry_penalty_last_n -1": "refused",
    "top_n_sigma": "has an effect",
    "adaptive_target": "has an effect",
    "default repeat": "1",
}
_LLAMA_CPP_PYTHON = {
    **_LLAMA_CPP,
    "prompt, for frequency_penalty": "does not count",
    "prompt, for the repetition penalty": "does not count",
    "temperature -1": "draws",
    "default repeat": "1.1",
}
# v1/sample/sampler.py, sampling_params.py and logprobs_mode of 0.32.0
_VLLM = {
    "unknown names": "taken in silence",
    "seed": "repeats",
    "seed -1": "another text each time",
    "temperature 0": "one text",
    "temperature -1": "refused",
    "penalties and temperature": "penalties first",
    "penalties and top_k": "penalties first",
    "logit_bias and top_k": "logit_bias first",
    "temperature and top_p": "temperature first",
    "temperature and min_p": "temperature first",
    "top_k and top_p": "top_k first",
    "min_p and top_p": "min_p first",
    "the token that crosses top_p": "kept",
    "frequency_penalty": "per occurrence",
    "presence_penalty": "once per token",
    "repetition penalty": "once per token",
    "logit_bias and repetition penalty": "logit_bias first",
    "prompt, for frequency_penalty": "does not count",
    "prompt, for the repetition penalty": "counts",
    "top_k 0": "everything",
    "top_k -1": "everything",
    "top_p 0": "refused",
    "logprobs and temperature": "before",
    "logprobs and top_k": "before",
    "logprobs and logit_bias": "before",
    "default temperature": "1",
    "default top_k": "0",
    "default top_p": "1",
    "default min_p": "0",
    "default repeat": "1",
}
# Penalties: none are told, for a prompt that is asked again has none (docs/findings.md).
_MLX_LM = {
    "unknown names": "taken in silence",
    "seed": "repeats",
    "temperature 0": "one text",
    "temperature -1": "refused",
    "logit_bias and top_k": "logit_bias first",
    "temperature and top_p": "top_p first",
    "temperature and min_p": "min_p first",
    "top_k and top_p": "top_p first",
    "min_p and top_p": "top_p first",
    "the token that crosses top_p": "kept",
    "top_k 0": "everything",
    "top_k -1": "refused",
    "top_p 0": "everything",
    "logprobs and temperature": "before",
    "logprobs and top_k": "before",
    "logprobs and logit_bias": "after",
    "default temperature": "0",
    "default top_k": "0",
    "default top_p": "1",
    "default min_p": "0",
    "default repeat": "1",
}
# sample/samplers.go, docs/modelfile.md
_OLLAMA = {
    "seed": "repeats",
    "seed -1": "another text each time",
    "temperature 0": "one text",
    "temperature -1": "one text",
    "temperature and top_p": "temperature first",
    "temperature and min_p": "temperature first",
    "top_k and top_p": "top_k first",
    "min_p and top_p": "top_p first",
    "default temperature": "0.8",
    "default top_k": "40",
    "default top_p": "0.9",
    "default min_p": "0",
    "default repeat": "1.1",
}

ENGINES = (
    Engine("llama-server (b11549)", True, _LLAMA_SERVER),
    Engine("llama-cpp-python's server 0.3.36", True, _LLAMA_CPP_PYTHON),
    Engine("MLX LM's server 0.32.2", True, _MLX_LM),
    Engine("vLLM 0.32.0", True, _VLLM),
    Engine("Ollama", False, _OLLAMA),
)
