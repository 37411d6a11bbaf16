"""The differences between releases of llama.cpp: signatures of the samplers' initializers and the
layout of llama_model_params, as listed in signatures.toml.

A row holds from the oldest release in which it was found (`since`) to the newest (`until`). A
release between two rows is not guessed: with the wrong arguments a sampler does not fail, it
samples wrongly.
"""

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.files import toml_of
from sampler_parity.reference import chronology
from sampler_parity.reference.chronology import NEWEST, OLDEST, SEEN, joined, parted
from sampler_parity.reference.errors import ChainError


class LlamaLogitBias(ctypes.Structure):
    """llama_logit_bias."""

    _fields_ = (("token", c_int32), ("bias", c_float))


TYPES: dict[str, Any] = {
    "uint32_t": c_uint32,
    "int32_t": c_int32,
    "float": c_float,
    "bool": c_bool,
    "size_t": c_size_t,
    "void *": c_void_p,
    "char *": c_char_p,
    "char **": POINTER(c_char_p),
    "int32_t *": POINTER(c_int32),
    "llama_logit_bias *": POINTER(LlamaLogitBias),
}


@dataclass(frozen=True)
class Signature:
    """llama_sampler_init_SYMBOL and its arguments, in releases since..until."""

    symbol: str
    arguments: tuple[str, ...]
    since: str = OLDEST
    until: str = SEEN


@dataclass(frozen=True)
class ModelLayout:
    """The offsets in bytes of the fields of llama_model_params that are set here, in releases
    since..until."""

    n_gpu_layers: int
    vocab_only: int
    since: str = OLDEST
    until: str = SEEN


def _signature(name: str, row: dict[str, Any]) -> Signature:
    return Signature(**{"symbol": name, **row, "arguments": tuple(row["arguments"])})


_FILE = Path(__file__).with_name("signatures.toml")
_TABLES = toml_of(_FILE, _FILE.read_bytes())
ARGUMENTS = {name: TYPES[c] for c, names in _TABLES["arguments"].items() for name in names}
SIGNATURES = {
    name: tuple(_signature(name, row) for row in rows) for name, rows in _TABLES["samplers"].items()
}
LAZY_BY_WORDS = _signature("", _TABLES["lazy_by_words"])
MODEL_LAYOUTS = tuple(ModelLayout(**row) for row in _TABLES["model_layout"])


def order(release: str) -> tuple[float, ...]:
    """Return a key that sorts releases by age: b3889 < v0.5.0 < b11549. Raises InputError."""
    try:
        return chronology.order(release)
    except ChainError as error:
        where = f"release {release!r}"
        problem, _, fix = str(error).removeprefix(f"{where} ").partition(": ")
        raise InputError(where, problem, fix) from None


def has(sampler: str, release: str) -> bool:
    """Return whether llama.cpp had the sampler in this release, as far as is known.

    True for the token trie, which is ours and not bound to a release. `ignore_eos` is made of other
    samplers on v0.5.0 alone.
    """
    if sampler not in SIGNATURES:
        return sampler != "ignore_eos" or release == NEWEST
    return any(_holds(row, release) for row in SIGNATURES[sampler])


def signature(sampler: str, release: str) -> Signature:
    """Return the signature. Raises Unsupported if the sampler, or its signature in this release, is
    not known."""
    if sampler not in SIGNATURES:
        raise Unsupported(f"llama.cpp has no sampler {sampler}")
    rows = SIGNATURES[sampler]
    for row in rows:
        if _holds(row, release):
            return row
    releases = ", ".join(f"{row.since} to {row.until}" for row in rows)
    raise Unsupported(
        f"it has {sampler}, but its signature in llama.cpp {release} is unknown, only those of"
        f" {releases} are known:"
        f" compare llama_sampler_init_{rows[0].symbol} in its llama.h with those, and widen a row"
        " of harness/llama_cpp/signatures.toml"
    )


def model_layout(release: str) -> ModelLayout:
    """Return the layout. Raises Unsupported if llama_model_params of the release is not known."""
    for row in MODEL_LAYOUTS:
        if _holds(row, release):
            return row
    releases = ", ".join(f"{row.since} to {row.until}" for row in MODEL_LAYOUTS)
    raise Unsupported(
        f"llama_model_params of llama.cpp {release} is unknown, only that of {releases} is known"
    )


def _holds(row: Signature | ModelLayout, release: str) -> bool:
    return order(row.since) <= order(release) <= order(row.until)


def known_meaning(target: str, where: str = "") -> str:
    """Return RELEASE, PLATFORM or RELEASE/PLATFORM if some samplers have a known meaning there.
    Raises InputError."""
    try:
        release, platform = parted(target)
        chronology.check_known(release)
    except ChainError as error:
        raise InputError(where or f"--reference {target}", str(error)) from None
    return joined(release, platform)
