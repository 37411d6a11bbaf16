"""Find the wrong stage of a round of speculative sampling: its distribution, split into stages.

An outcome is a draft and the tokens of its round. All tokens but the last were accepted. The last
was recovered, or is the bonus after a whole draft. The stages, in the order in which they are
compared:

    shape:      the accepted tokens are not the draft's, or there are too many or none
    bonus:      no round ends with a bonus though some must: checked before stages that it affects
    draft i:    the drafted token, given those before
    accept i:   whether it is accepted, given the draft so far
    recover i:  the token that replaces a rejected one, given the draft so far
    bonus:      the token after a whole draft, given the draft

`first_difference` names the first stage with another distribution than the correct one. It is the
cause, because later stages are conditioned on it."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import Any

import scipy

from sampler_parity.reference import UndefinedInputError

Tokens = tuple[int, ...]
Distribution = Mapping[tuple[Tokens, Tokens], Any]  # of (draft, tokens)
Stage = tuple[str, Tokens]  # its name, and the draft so far that it is given

CLOSE = 1e-9  # of float64 distributions: their rounding is 1e-15 a comparison


def first_difference(distribution: Distribution, right: Distribution) -> str:
    """Return one line that begins with the first wrong stage; "" if the distributions are equal."""
    gamma = max(len(draft) for draft, _ in right)
    if problem := misshapen(distribution):
        return problem
    if not any(len(tokens) == gamma + 1 for _, tokens in distribution):
        return f"bonus: no round has {gamma + 1} tokens"
    parts, expected = taken_apart(distribution), taken_apart(right)
    for stage in sorted(expected.keys() & parts.keys(), key=order):
        got, want = _normed(parts[stage]), _normed(expected[stage])
        outcomes = sorted(got.keys() | want.keys(), key=repr)  # the first of equal differences
        worst = max(outcomes, key=lambda v: abs(got.get(v, 0) - want.get(v, 0)))
        off = got.get(worst, 0), want.get(worst, 0)
        if abs(off[0] - off[1]) > CLOSE:
            name, tokens = stage
            behind = f" behind {tokens}" if tokens else ""
            return f"{name}: {worst}{behind} has {float(off[0]):.6g}, not {float(off[1]):.6g}"
    return ""


def misshapen(distribution: Distribution) -> str:
    """Return a line about a round with tokens that its draft lacks, or with too many; else ""."""
    for draft, tokens in distribution:
        if not 0 < len(tokens) <= len(draft) + 1 or tokens[:-1] != draft[: len(tokens) - 1]:
            return f"shape: the draft {draft} gives {tokens}"
    return ""


def taken_apart(distribution: Distribution) -> dict[Stage, dict[Hashable, Any]]:
    """Return the distribution of each stage, not normalized: an event's share of all rounds."""
    parts: dict[Stage, dict[Hashable, Any]] = defaultdict(lambda: defaultdict(int))
    for (draft, tokens), p in distribution.items():
        accepted = len(tokens) - 1
        for i, token in enumerate(draft):
            parts[f"draft {i}", draft[:i]][token] += p
        for i in range(min(accepted + 1, len(draft))):
            parts[f"accept {i}", draft[: i + 1]]["accepted" if i < accepted else "rejected"] += p
        last = "bonus" if accepted == len(draft) else f"recover {accepted}"
        parts[last, draft[: accepted + 1]][tokens[-1]] += p
    return parts


def _normed(part: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    total = sum(part.values())
    return {value: p / total for value, p in part.items()}


def order(stage: Stage) -> tuple[int, int, Tokens]:
    """Return a key that sorts stages by position; the bonus is last."""
    name, tokens = stage
    kind, _, position = name.partition(" ")
    return int(position or 1 << 30), ("draft", "accept", "recover", "bonus").index(kind), tokens


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
