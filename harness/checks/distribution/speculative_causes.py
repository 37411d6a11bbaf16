"""Where rounds that were counted go wrong: the first stage with counts that a right one has not."""

from collections.abc import Callable, Hashable, Mapping

import scipy

from sampler_parity.harness.checks.distribution.speculative_stages import (
    Stage,
    Tokens,
    misshapen,
    order,
    taken_apart,
)


def cause_of(
    counts: Mapping[tuple[Tokens, Tokens], int],
    right: Callable[[Stage], Mapping[Hashable, float]],
    alpha: float,
) -> str:
    """One line, beginning with the stage; "" where none is wrong. A right backend gets one with
    probability alpha at most: exact binomial tests, alpha split evenly over all that are made.

    counts: of (draft, tokens). right: the law of a stage, given the draft so far.
    """
    if said := misshapen(counts):
        return said
    parts = {stage: part for stage, part in taken_apart(counts).items() if stage[0] != "draft"}
    laws = {stage: right(stage) for stage in parts}
    tests = sum(len(law) for law in laws.values())
    for stage in sorted(parts, key=order):
        part, n = parts[stage], int(sum(parts[stage].values()))
        for value, p in laws[stage].items():
            got = int(part.get(value, 0))
            chance = min(1.0, max(0.0, float(p)))
            if scipy.stats.binomtest(got, n, chance).pvalue <= alpha / tests:
                name, given = stage
                return f"{name}: {value} behind {given} came {got:,}/{n:,}, chance {chance:.4g}"
    return ""
