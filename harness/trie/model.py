"""What a trie makes of tokens per second where a forward pass takes longer or shorter than here.

    speed-up = passes of the grammar x (decode + its sampling) / (the same of the trie)

A token of the grammar takes one pass, a forced token of the trie none. A pass that takes forced
tokens along is taken to cost as much as one that does not.
"""

import math

from sampler_parity.harness.protocol.measured import DECODE_MS, Measured, Modelled, Way


def speed_up(way: Way, grammar: Way, decode_us: tuple[float, float]) -> float:
    """decode_us: of a forward pass of the way, and of the grammar. Sampling takes its mean."""
    ours = way.forward_passes_per_token * (decode_us[0] + (way.sampler_us_mean or 0.0))
    theirs = grammar.forward_passes_per_token * (decode_us[1] + (grammar.sampler_us_mean or 0))
    return theirs / ours if ours else math.inf


def modelled(way: Way, grammar: Way) -> Modelled:
    """here: with the passes of each as long as measured. Elsewhere they are equally long. None: no
    forward pass at all, of a trie with one leaf."""
    if not (way.decode_us_mean and grammar.decode_us_mean):
        return Modelled(here=None, by_decode_ms=None)
    return Modelled(
        here=speed_up(way, grammar, (way.decode_us_mean, grammar.decode_us_mean)),
        by_decode_ms={f"{ms:g}": speed_up(way, grammar, (1000 * ms,) * 2) for ms in DECODE_MS},
    )


def foretold(base: Measured, delayed: Measured) -> float | None:
    """The speed-up that a measurement gives for the time of a pass of another, with which it is
    compared. None: no forward pass."""
    decode_us = delayed.ways["grammar_first"].decode_us_mean
    if base.modelled.here is None or decode_us is None:
        return None
    return speed_up(base.ways["trie"], base.ways["grammar_first"], (decode_us, decode_us))
