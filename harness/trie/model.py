"""A model of the trie's speed-up for longer and shorter forward passes than here.

    speed-up = passes of the grammar x (decode + its sampling) / (the same of the trie)

A token of the grammar takes one pass, a forced token of the trie none. A pass that takes forced
tokens along is taken to cost as much as one that does not.
"""

import math

from sampler_parity.harness.protocol.measured import DECODE_MS, Measured, Modelled, Way


def speed_up(way: Way, grammar: Way, decode_us: tuple[float, float]) -> float:
    """Return the speed-up. decode_us: of a forward pass of the way, and of the grammar. Sampling
    takes its mean."""
    ours = way.forward_passes_per_token * (decode_us[0] + (way.sampler_us_mean or 0.0))
    theirs = grammar.forward_passes_per_token * (decode_us[1] + (grammar.sampler_us_mean or 0))
    return theirs / ours if ours else math.inf


def modelled(way: Way, grammar: Way) -> Modelled:
    """Estimate the speed-up. here: with the measured time of each way's pass; elsewhere both passes
    are equally long. None if a trie with one leaf needs no forward pass."""
    if not (way.decode_us_mean and grammar.decode_us_mean):
        return Modelled(here=None, by_decode_ms=None)
    return Modelled(
        here=speed_up(way, grammar, (way.decode_us_mean, grammar.decode_us_mean)),
        by_decode_ms={f"{ms:g}": speed_up(way, grammar, (1000 * ms,) * 2) for ms in DECODE_MS},
    )


def foretold(base: Measured, delayed: Measured) -> float | None:
    """Predict the speed-up of `delayed` from `base`, with the time of a pass of `delayed`. None
    without a forward pass."""
    decode_us = delayed.ways["grammar_first"].decode_us_mean
    if base.modelled.here is None or decode_us is None:
        return None
    return speed_up(base.ways["trie"], base.ways["grammar_first"], (decode_us, decode_us))
