"""Find the order of a server that takes one by name (`samplers`), by texts of the same seeds.

Its own order gives the texts of the same order written out. The orders tried are the defaults of
llama.cpp's releases, and v0.5.0's with one sampler at another place.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from sampler_parity.programs.servers.fingerprint.trait import Trait, TraitTest
from sampler_parity.programs.servers.probe import Probe, Undetermined
from sampler_parity.reference.pipelines.common_chain import DEFAULT_ORDER

# Each strong enough that its place shows.
_STRONG: dict[str, Any] = {
    "repeat_penalty": 1.2,
    "frequency_penalty": 0.6,
    "dry_multiplier": 0.6,
    "dry_allowed_length": 1,
    "top_n_sigma": 1.8,
    "top_k": 12,
    "typical_p": 0.8,
    "top_p": 0.8,
    "min_p": 0.08,
    "xtc_probability": 0.5,
    "xtc_threshold": 0.08,
    "temperature": 1.6,
}


def _orders() -> Iterator[tuple[str, ...]]:
    yield DEFAULT_ORDER
    yield tuple(name for name in DEFAULT_ORDER if name != "top_n_sigma")
    for name in DEFAULT_ORDER:
        rest = [sampler for sampler in DEFAULT_ORDER if sampler != name]
        for position in range(len(DEFAULT_ORDER)):
            moved = (*rest[:position], name, *rest[position:])
            if moved != DEFAULT_ORDER:
                yield moved


def _order(probe: Probe) -> Trait:
    probe.required_row("samplers")
    probe.need_seeds()
    expected = [answer.text for answer in probe.hots(**_STRONG)]
    mixed = DEFAULT_ORDER[::-1]
    refused = probe.hot(**_STRONG, samplers=list(mixed))
    if refused.refusal or _texts(probe, mixed) == expected == _texts(probe, DEFAULT_ORDER):
        raise Undetermined(f"samplers has no effect {refused.refusal}", refused)
    for tried, order in enumerate(_orders(), 1):
        # the first seed distinguishes most orders: the others are asked if it does not
        first = probe.hot(**_STRONG, samplers=list(order))
        if first.text == expected[0] and _texts(probe, order) == expected:
            exchangeable = [
                f"{a}/{b}" for a, b, o in _exchanged(order) if _texts(probe, o) == expected
            ]
            line = f"{len(expected)} seeds: its texts are those of this order, the {tried}. tried"
            line += f"; exchanged, no other texts: {', '.join(exchangeable) or 'none'}"
            return Trait(", ".join(order), line, probe.hot(**_STRONG))
    raise Undetermined(f"none of {tried} orders gives its texts", probe.hot(**_STRONG))


def _texts(probe: Probe, order: Sequence[str]) -> list[str]:
    return [answer.text for answer in probe.hots(**_STRONG, samplers=list(order))]


def _exchanged(order: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    for i, (first, second) in enumerate(pairwise(order)):
        yield first, second, [*order[:i], second, first, *order[i + 2 :]]


SAMPLER_ORDER: dict[str, TraitTest] = {"order of samplers": _order}
