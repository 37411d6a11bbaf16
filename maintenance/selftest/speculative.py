"""Checks of speculative sampling: each describes an error of a function, or returns "".

The exact distribution of a function is enumerated and compared with the right one. A round is
compared stage by stage, so the first difference is at the stage of the fault.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.distribution.speculative_stages import (
    CLOSE,
    Distribution,
    first_difference,
)
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference.speculative import rounds, several_drafts
from sampler_parity.reference.speculative.chance import Chance, Drawn, Row, enumerate_outcomes
from sampler_parity.reference.speculative.one_draft import verify

Tokens = tuple[int, ...]
Select = Callable[[Chance, Sequence[int], Row, Row], tuple[int, bool]]


def _row(*parts: float) -> Row:
    return np.array(parts) / sum(parts)


# The draft is wrong in each row, and differently; a row depends on the token before.
_P = [_row(5, 3, 2), _row(1, 4, 2), _row(3, 1, 1), _row(2, 2, 3)]
_Q = [_row(2, 7, 1), _row(3, 1, 2), _row(1, 1, 2), _row(4, 1, 1)]
GAMMA = 2
LENGTH = 3  # of the texts; a round drafts one token and gives one or two

# Several drafts: token 3 is rejected most often; the rest then has too much of token 1.
_OF_ONE, _DRAFTED_FROM = np.array([4, 3, 2, 1]) / 10, np.array([1, 2, 1, 6]) / 10


def target(past: Tokens) -> Row:
    return _P[0 if not past else 1 + past[-1]]


def drafting(past: Tokens) -> Row:
    return _Q[0 if not past else 1 + past[-1]]


def distribution_of(
    one_round: Callable[..., Tokens], verifying: rounds.Verify = verify
) -> Distribution:
    """Return the distribution of a round. The draft is the longest past given to the target."""

    def experiment(chance: Chance) -> tuple[Tokens, Tokens]:
        pasts: list[Tokens] = []

        def model(past: Tokens) -> Row:
            pasts.append(past)
            return target(past)

        tokens = one_round(chance, verifying, drafting, model, GAMMA, ())
        return max(pasts, key=len), tokens

    return enumerate_outcomes(experiment)


def check_round(one_round: Callable[..., Tokens]) -> str:
    """Check the distribution of a round, stage by stage."""
    return first_difference(distribution_of(one_round), distribution_of(rounds.one_round))


def check_verify(verifying: rounds.Verify) -> str:
    """Check the distribution of a round with this verification, stage by stage."""
    right = distribution_of(rounds.one_round)
    return first_difference(distribution_of(rounds.one_round, verifying), right)


class _Zero(Drawn):
    def uniform(self) -> float:
        return 0.0


def check_at_zero(judge: Callable[[Chance, Row, Row, int], bool]) -> str:
    """Check that the smallest uniform number accepts no impossible token."""
    p, q = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    accepted = judge(_Zero(np.random.default_rng(0)), p, q, 0)
    return "accept: a token of probability 0 at u = 0" if accepted else ""


def check_drafts(speculate: Callable[..., Any]) -> str:
    """Check the rounds of the quick profile whose tokens are certain. speculate: what is tested."""
    worker = Worker()
    vars(worker)["speculate"] = lambda request, draft: speculate(
        lambda: worker.build(request.chain, request.n_vocab, request.vocab).chain, request, draft
    )
    backend = InPlace("made", worker)
    try:
        for case in _rounds():
            result = execute(case, [backend]).backends["made"]
            if result.verdict != "identical":
                return f"{case.id}: {result.detail}, {result.values}"
    finally:
        backend.close()
    return ""


@functools.cache
def _rounds() -> list[Any]:
    return expand(find_suites(["speculative/rounds"])[0], "quick")


def check_several(select: Select) -> str:
    """Check two drafts without replacement: how often each is accepted, and the distribution of the
    token that is drawn after both."""
    got = _distribution_of_two(select)
    want = _distribution_of_two(several_drafts.without_replacement)
    for stage, drafted in ("accept", True), ("recover", False):
        for outcome in sorted(got.keys() | want.keys()):
            tokens, token, is_drafted = outcome
            a, b = got.get(outcome, 0), want.get(outcome, 0)
            if is_drafted == drafted and abs(a - b) > CLOSE:
                return f"{stage}: {token} of {tokens} has {a:.6g}, not {b:.6g}"
    return ""


def _distribution_of_two(select: Select) -> dict[tuple[Tokens, int, bool], Any]:
    def experiment(chance: Chance) -> tuple[Tokens, int, bool]:
        tokens = several_drafts.drawn_without_replacement(chance, _DRAFTED_FROM, 2)
        return tokens, *select(chance, tokens, _OF_ONE, _DRAFTED_FROM)

    return enumerate_outcomes(experiment)


def check_text(text: Callable[..., Tokens]) -> str:
    """Check that each token, given those before, has the distribution of the target."""
    got = enumerate_outcomes(lambda chance: text(chance, verify, drafting, target, 1, LENGTH))
    want = rounds.distribution_without_draft(target, LENGTH)
    for n in range(1, LENGTH + 1):
        a, b = _beginnings(got, n), _beginnings(want, n)
        off = {tokens: abs(a[tokens] - p) for tokens, p in b.items()}
        worst = max(off, key=off.__getitem__)
        if abs(a[worst] - b[worst]) > CLOSE:
            chances = f"{a[worst]:.6g}, not {b[worst]:.6g}"
            return f"token {n - 1}: texts that begin {worst} have {chances}"
    return ""


def _beginnings(distribution: dict[Tokens, Any], n: int) -> dict[Tokens, Any]:
    sums: dict[Tokens, Any] = defaultdict(int)
    for tokens, p in distribution.items():
        sums[tokens[:n]] += p
    return sums
