"""What differs between releases of llama.cpp: the signatures of the samplers' initializers and the
layout of llama_model_params.

A row holds for the releases from `since` to `until`, the oldest and newest that it was seen in. A
release between two rows is not guessed at: with the wrong arguments a sampler does not fail, it
samples wrongly.
"""

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import chronology
from sampler_parity.reference.chronology import NEWEST, OLDEST, SEEN
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.meaning import joined, parted


class LogitBias(ctypes.Structure):
    """llama_logit_bias."""

    _fields_ = (("token", c_int32), ("bias", c_float))


# Every argument of an initializer, by its name in llama.h.
ARGUMENTS: dict[str, Any] = {
    "seed": c_uint32,
    "k": c_int32,
    "p": c_float,
    "t": c_float,
    "z": c_float,
    "n": c_float,
    "min_keep": c_size_t,
    "temp": c_float,
    "delta": c_float,
    "exponent": c_float,
    "n_vocab": c_int32,
    "tau": c_float,
    "eta": c_float,
    "m": c_int32,
    "target": c_float,
    "decay": c_float,
    "special_eos_id": c_int32,
    "linefeed_id": c_int32,
    "penalty_last_n": c_int32,
    "penalty_repeat": c_float,
    "penalty_freq": c_float,
    "penalty_present": c_float,
    "penalize_nl": c_bool,
    "ignore_eos": c_bool,
    "vocab": c_void_p,
    "model": c_void_p,
    "n_ctx_train": c_int32,
    "dry_multiplier": c_float,
    "dry_base": c_float,
    "dry_allowed_length": c_int32,
    "dry_penalty_last_n": c_int32,
    "seq_breakers": POINTER(c_char_p),
    "num_breakers": c_size_t,
    "n_logit_bias": c_int32,
    "logit_bias": POINTER(LogitBias),
    "grammar_str": c_char_p,
    "grammar_root": c_char_p,
    "trigger_patterns": POINTER(c_char_p),
    "num_trigger_patterns": c_size_t,
    "trigger_words": POINTER(c_char_p),
    "num_trigger_words": c_size_t,
    "trigger_tokens": POINTER(c_int32),
    "num_trigger_tokens": c_size_t,
}


@dataclass(frozen=True)
class Signature:
    """llama_sampler_init_SYMBOL and its arguments, in releases since..until."""

    symbol: str
    arguments: tuple[str, ...]
    since: str = OLDEST
    until: str = SEEN


def _one(
    symbol: str, *arguments: str, since: str = OLDEST, until: str = SEEN
) -> tuple[Signature, ...]:
    """A signature that never changed, of a sampler that was there from since to until."""
    return (Signature(symbol, arguments, since, until),)


_PENALTIES = ("penalty_last_n", "penalty_repeat", "penalty_freq", "penalty_present")
_DRY = ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n")
_BREAKERS = ("seq_breakers", "num_breakers")
_GRAMMAR = ("grammar_str", "grammar_root")
_TRIGGERS = ("trigger_patterns", "num_trigger_patterns", "trigger_tokens", "num_trigger_tokens")

SIGNATURES: dict[str, tuple[Signature, ...]] = {
    "greedy": _one("greedy"),
    "dist": _one("dist", "seed"),
    "softmax": _one("softmax", until="b6301"),
    "top_k": _one("top_k", "k"),
    "top_p": _one("top_p", "p", "min_keep"),
    "min_p": _one("min_p", "p", "min_keep"),
    "tail_free": _one("tail_free", "z", "min_keep", until="b3889"),
    "typical_p": _one("typical", "p", "min_keep"),
    "temp": _one("temp", "temp"),
    "temp_ext": _one("temp_ext", "temp", "delta", "exponent"),
    "xtc": _one("xtc", "p", "t", "min_keep", "seed", since="b3995"),
    "top_n_sigma": _one("top_n_sigma", "n", since="b4753"),
    "mirostat": _one("mirostat", "n_vocab", "seed", "tau", "eta", "m"),
    "mirostat_v2": _one("mirostat_v2", "seed", "tau", "eta"),
    "penalties": (
        Signature(
            "penalties",
            ("n_vocab", "special_eos_id", "linefeed_id", *_PENALTIES, "penalize_nl", "ignore_eos"),
            until="b4291",
        ),
        Signature("penalties", _PENALTIES, since="b4435", until="b10200"),
        Signature("penalties", ("n_vocab", *_PENALTIES), since="b10361"),
    ),
    "dry": (
        Signature("dry", ("model", *_DRY, *_BREAKERS), since="b3995", until="b4435"),
        Signature(
            "dry", ("vocab", "n_ctx_train", *_DRY, *_BREAKERS), since="b4529", until="b10200"
        ),
        Signature("dry", ("vocab", *_DRY, *_BREAKERS), since="b10361"),
    ),
    "adaptive_p": _one("adaptive_p", "target", "decay", "seed", since="b7836"),
    "logit_bias": _one("logit_bias", "n_vocab", "n_logit_bias", "logit_bias"),
    "infill": (
        Signature("infill", ("model",), since="b3995", until="b4435"),
        Signature("infill", ("vocab",), since="b4529"),
    ),
    "grammar": (
        Signature("grammar", ("model", *_GRAMMAR), until="b4435"),
        Signature("grammar", ("vocab", *_GRAMMAR), since="b4529"),
    ),
    "grammar_lazy_patterns": _one(
        "grammar_lazy_patterns", "vocab", *_GRAMMAR, *_TRIGGERS, since="b5590"
    ),
}

# grammar_lazy_patterns of trigger words: deprecated, but there
LAZY_BY_WORDS = Signature(
    "grammar_lazy", ("vocab", *_GRAMMAR, "trigger_words", "num_trigger_words", *_TRIGGERS[2:])
)


@dataclass(frozen=True)
class ModelLayout:
    """Where llama_model_params holds what is set here, in bytes, in releases since..until."""

    n_gpu_layers: int
    vocab_only: int
    since: str
    until: str


MODEL_LAYOUTS = (
    ModelLayout(n_gpu_layers=0, vocab_only=56, since="b3995", until="b3995"),
    ModelLayout(n_gpu_layers=8, vocab_only=64, since="b4291", until="b4435"),
    ModelLayout(n_gpu_layers=8, vocab_only=56, since="b4529", until="b4980"),
    ModelLayout(n_gpu_layers=16, vocab_only=64, since="b5590", until="b10361"),
    ModelLayout(n_gpu_layers=16, vocab_only=72, since="v0.4.0", until=SEEN),
)


def order(release: str) -> tuple[float, ...]:
    """A key that sorts releases by age: b3889 < v0.5.0 < b11549. Raises InputError."""
    try:
        return chronology.order(release)
    except ChainError as error:
        where = f"release {release!r}"
        problem, _, mend = str(error).removeprefix(f"{where} ").partition(": ")
        raise InputError(where, problem, mend) from None


def has(sampler: str, release: str) -> bool:
    """Whether llama.cpp had the sampler in this release, as far as is known.

    True for one of ours, the token trie, which no release brought or took away; `ignore_eos` is
    made of others on v0.5.0 alone.
    """
    if sampler not in SIGNATURES:
        return sampler != "ignore_eos" or release == NEWEST
    return any(_holds(row, release) for row in SIGNATURES[sampler])


def signature(sampler: str, release: str) -> Signature:
    """Raises Unsupported where the sampler, or how this release takes it, is not known."""
    if sampler not in SIGNATURES:
        raise Unsupported(f"llama.cpp has no sampler {sampler}")
    rows = SIGNATURES[sampler]
    for row in rows:
        if _holds(row, release):
            return row
    known = ", ".join(f"{row.since} to {row.until}" for row in rows)
    raise Unsupported(
        f"it has {sampler}, but how llama.cpp {release} takes it is not known, only {known}:"
        f" compare llama_sampler_init_{rows[0].symbol} in its llama.h with those, and widen a row"
        " of harness/llama_cpp/signatures.py"
    )


def model_layout(release: str) -> ModelLayout:
    """Raises Unsupported where the layout of llama_model_params of the release is not known."""
    for row in MODEL_LAYOUTS:
        if _holds(row, release):
            return row
    known = ", ".join(f"{row.since} to {row.until}" for row in MODEL_LAYOUTS)
    raise Unsupported(f"how llama.cpp {release} takes a model is not known, only {known}")


def _holds(row: Signature | ModelLayout, release: str) -> bool:
    return order(row.since) <= order(release) <= order(row.until)


def known_meaning(meaning: str, where: str = "") -> str:
    """RELEASE, PLATFORM or RELEASE/PLATFORM, if what it meant by some samplers is known. Raises
    InputError."""
    try:
        release, platform = parted(meaning)
        chronology.check_known(release)
    except ChainError as error:
        raise InputError(where or f"--reference {meaning}", str(error)) from None
    return joined(release, platform)
