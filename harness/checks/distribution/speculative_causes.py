"""Find the first wrong stage of counted rounds: its counts differ from the correct distribution."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress

import scipy

from sampler_parity.harness.checks.distribution.speculative_stages import (
    Stage,
    Tokens,
    misshapen,
    order,
    taken_apart,
)
from sampler_parity.reference import UndefinedInputError


def cause_of(
    counts: Mapping[tuple[Tokens, Tokens], int],
    right: Callable[[Stage], Mapping[Hashable, float]],
    alpha: float,
) -> str:
    """Return one line that begins with the stage; "" if none is wrong.

    A correct backend gets a line with probability alpha at most: exact binomial tests, with alpha
    split evenly over all of them. counts: of (draft, tokens). right: the distribution of a stage,
    given the draft so far.
    """
    if problem := misshapen(counts):
        return problem
    parts = {stage: part for stage, part in taken_apart(counts).items() if stage[0] != "draft"}
    distributions = {}
    for stage in parts:
        with suppress(UndefinedInputError):  # behind a token that the target's grammar refuses
            distributions[stage] = right(stage)
    tests = sum(len(distribution) for distribution in distributions.values())
    for stage in sorted(distributions, key=order):
        part, n = parts[stage], int(sum(parts[stage].values()))
        for value, p in distributions[stage].items():
            got = int(part.get(value, 0))
            chance = min(1.0, max(0.0, float(p)))
            if scipy.stats.binomtest(got, n, chance).pvalue <= alpha / tests:
                name, tokens = stage
                return f"{name}: {value} behind {tokens} came {got:,}/{n:,}, chance {chance:.4g}"
    return ""
