"""llama.cpp's own chain, as `common_sampler_init` builds it from the command line's parameters.

    logit_bias (if any), then the samplers in their order, then dist
    mirostat 1 or 2:  logit_bias (if any), temp, mirostat or mirostat_v2, and nothing else

A sampler that is off stays in the chain and does nothing. adaptive_p, named anywhere in the order,
comes last in the place of dist.

-1 for penalty_last_n or dry_penalty_last_n meant the context size in earlier releases, so that a
log could show 4096 for a default of -1. At v0.5.0 both defaults are 64, the command line and the
server refuse a negative number, and a sampler built with one is off. `default_chain(..., n_ctx)`
gives the earlier meaning.

Not here: a model's own defaults (`general.sampling.*` in its metadata).

Source: common/common.h (common_params_sampling), common/common.cpp (common_init_result),
common/sampling.cpp (common_sampler_init, common_sampler_types_from_names) and common/arg.cpp at
v0.5.0.
Tests: tests/reference/test_common_sampler_chain.py
"""

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reference.vocab import Vocab

ChainSpec = list[dict[str, dict[str, Any]]]

MIROSTAT_M = 100

# The command line's names; one that it does not know it drops with a warning.
DEFAULT_ORDER = (
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature",
)  # fmt: skip
_NAMES = (*DEFAULT_ORDER, "infill", "adaptive_p")
_ALIASES = {"nucleus": "top_p", "temp": "temperature", "typ": "typ_p"}
_LETTERS = {
    "d": "dry", "k": "top_k", "y": "typ_p", "p": "top_p", "s": "top_n_sigma", "m": "min_p",
    "t": "temperature", "x": "xtc", "i": "infill", "e": "penalties", "a": "adaptive_p",
}  # fmt: skip


@dataclass(frozen=True)
class SamplingParams:
    """The fields and defaults of common_params_sampling.

    reasoning_budget_tokens: of a block; negative: no limit. start: one sequence; end: any of them.
    There is a budget sampler if start and end are given, and a limit, a lazy grammar or
    reasoning_control, which lets `force_reasoning_end` work without a limit.
    """

    seed: int = DEFAULT_SEED
    n_prev: int = 64
    min_keep: int = 0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    typ_p: float = 1.0
    temp: float = 0.8
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    penalty_last_n: int = 64
    penalty_repeat: float = 1.0
    penalty_freq: float = 0.0
    penalty_present: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    adaptive_target: float = -1.0
    adaptive_decay: float = 0.9
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    top_n_sigma: float = -1.0
    samplers: tuple[str, ...] = DEFAULT_ORDER
    logit_bias: tuple[tuple[int, float], ...] = ()
    ignore_eos: bool = False
    grammar_lazy: bool = False
    reasoning_budget_tokens: int = -1
    reasoning_budget_start: tuple[int, ...] = ()
    reasoning_budget_end: tuple[tuple[int, ...], ...] = ()
    reasoning_budget_forced: tuple[int, ...] = ()
    reasoning_control: bool = False


def default_chain(
    params: SamplingParams, n_vocab: int, n_ctx: int | None = None, suppress: Iterable[int] = ()
) -> ChainSpec:
    """Return the specification for `build_chain`.

    n_ctx: if given, -1 as penalty_last_n or dry_penalty_last_n means this, as in earlier releases.
    suppress: tokens that the model forbids (tokenizer.ggml.suppress_tokens), biased by -inf after
    the user's biases. Raises ChainError for penalties that are not finite, a factor that is not
    positive, an unknown sampler and an unknown mirostat version.
    """
    _check(params)
    biases = [list(pair) for pair in params.logit_bias] + [[t, -math.inf] for t in suppress]
    chain: ChainSpec = [{"logit_bias": {"logit_bias": biases}}] if biases else []
    if params.mirostat:
        return [*chain, {"temp": {"temp": params.temp}}, _mirostat(params, n_vocab)]
    order = [sampler_name(name) for name in params.samplers]
    chain += [_stage(name, params, n_ctx) for name in order if name != "adaptive_p"]
    if "adaptive_p" in order:
        target, decay = params.adaptive_target, params.adaptive_decay
        chain.append({"adaptive_p": {"target": target, "decay": decay, "seed": params.seed}})
    else:
        chain.append({"dist": {"seed": params.seed}})
    return chain


def sampler_name(name: str) -> str:
    """Return the command line's name of a sampler, for every spelling that it takes. Any case is
    taken, with - for _ or without either. Raises ChainError for an unknown one."""
    plain = name.lower()
    for canonical in _NAMES:
        if plain in (canonical, canonical.replace("_", "-"), canonical.replace("_", "")):
            return canonical
    if plain in _ALIASES:
        return _ALIASES[plain]
    raise ChainError(f"unknown sampler {name!r}; known: {', '.join(_NAMES)}")


def samplers_from_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return SamplingParams.samplers of `--samplers`. Unknown names are left out with a warning, as
    `common_sampler_types_from_names` does."""
    samplers = []
    for name in names:
        try:
            samplers.append(sampler_name(name))
        except ChainError:
            continue
    return tuple(samplers)


def samplers_from_chars(letters: str) -> tuple[str, ...]:
    """Return SamplingParams.samplers of `--sampler-seq`; the default is "edskypmxt". Unknown
    letters are left out with a warning, as `common_sampler_types_from_chars` does."""
    return tuple(_LETTERS[letter] for letter in letters if letter in _LETTERS)


def ban_eog(params: SamplingParams, vocab: Vocab) -> SamplingParams:
    """Return the parameters with `--ignore-eos` turned into biases of -inf.

    Every token that ends a generation gets one. They are unchanged without ignore_eos, and if the
    vocabulary has no EOS token.
    """
    if not params.ignore_eos or vocab.eos < 0:
        return params
    bans = tuple((token, -math.inf) for token in sorted(vocab.eog))
    return dataclasses.replace(params, logit_bias=params.logit_bias + bans)


def _check(params: SamplingParams) -> None:
    with np.errstate(all="ignore"):
        repeat = np.float32(params.penalty_repeat)
        reciprocal = np.float32(1) / repeat
    if not (np.isfinite(repeat) and repeat > 0 and np.isfinite(reciprocal)):
        raise ChainError(
            "penalty_repeat must be finite and greater than 0, and its reciprocal finite,"
            f" got {params.penalty_repeat!r}"
        )
    for name in ("penalty_freq", "penalty_present"):
        value = getattr(params, name)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float32(value)):
                raise ChainError(f"{name} must be finite, got {value!r}")
    if params.mirostat not in (0, 1, 2):
        raise ChainError(f"mirostat must be 0, 1 or 2, got {params.mirostat!r}")


def _mirostat(params: SamplingParams, n_vocab: int) -> dict[str, dict[str, Any]]:
    parameters = {"seed": params.seed, "tau": params.mirostat_tau, "eta": params.mirostat_eta}
    if params.mirostat == 1:
        return {"mirostat": {"n_vocab": n_vocab, **parameters, "m": MIROSTAT_M}}
    return {"mirostat_v2": parameters}


def _stage(name: str, params: SamplingParams, n_ctx: int | None) -> dict[str, dict[str, Any]]:
    p, keep = params, {"min_keep": params.min_keep}
    stages: dict[str, dict[str, dict[str, Any]]] = {
        "penalties": {
            "penalties": {
                "penalty_last_n": _last_n(p.penalty_last_n, n_ctx),
                "penalty_repeat": p.penalty_repeat,
                "penalty_freq": p.penalty_freq,
                "penalty_present": p.penalty_present,
            }
        },
        "dry": {
            "dry": {
                "dry_multiplier": p.dry_multiplier,
                "dry_base": p.dry_base,
                "dry_allowed_length": p.dry_allowed_length,
                "dry_penalty_last_n": _last_n(p.dry_penalty_last_n, n_ctx),
                "seq_breakers": list(p.dry_sequence_breakers),
            }
        },
        "top_n_sigma": {"top_n_sigma": {"n": p.top_n_sigma}},
        "top_k": {"top_k": {"k": p.top_k}},
        "typ_p": {"typical_p": {"p": p.typ_p, **keep}},
        "top_p": {"top_p": {"p": p.top_p, **keep}},
        "min_p": {"min_p": {"p": p.min_p, **keep}},
        "xtc": {"xtc": {"p": p.xtc_probability, "t": p.xtc_threshold, **keep, "seed": p.seed}},
        "temperature": {
            "temp_ext": {
                "temp": p.temp,
                "delta": p.dynatemp_range,
                "exponent": p.dynatemp_exponent,
            }
        },
        "infill": {"infill": {}},
    }
    return stages[name]


def _last_n(n: int, n_ctx: int | None) -> int:
    return n_ctx if n == -1 and n_ctx is not None else n
