"""Rounds of speculative sampling that can be judged token by token: whether a drafted token is
accepted is certain at each position. A token that the chain leaves alone is, and one with p >= q if
drafts are rejected. It shows what the chain has accepted: the right drafts in their order, and
nothing else.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sampler_parity.harness.checks.random_block import REMEMBERING, Draw, Parameters, RandomBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.strict import Tokens
from sampler_parity.reference import Candidates, UndefinedInputError

_CHAINS = [["penalties"], ["dry"], ["penalties", "dry"], ["dry", "penalties"]]
_BEFORE: dict[str, Parameters] = {
    "logit_bias": {"logit_bias": [[[0, 3.0]], [[1, -math.inf], [2, 2.0]], [[0, -2.0], [3, 2.0]]]},
    "temp": {"temp": [0.5, 2.0]}, "top_k": {"k": [2, 3]}, "min_p": {"p": [0.3]},
}  # fmt: skip
_ONE: dict[str, Parameters] = {"top_k": {"k": [1]}, "temp": {"temp": [0.0]}, "top_p": {"p": [0.0]}}
_SEVERAL: dict[str, Parameters] = {"top_k": {"k": [2, 3]}, "top_p": {"p": [0.6]}}
_DRAW = {"dist": {"seed": 1}}
_APART = 1.001  # p and q that are nearer to each other decide nothing


class RoundsCase(GivenCase):
    """Rounds with given drafts. steps: the positions of a round, one more than it has drafts."""

    check: ClassVar[str] = "rounds"

    rule: Literal["rejection", "matching"] = "rejection"
    """`rejection` of the drafted tokens, or `matching` them with sampled tokens"""
    drafts: list[Tokens] = Field(min_length=1)
    """the drafted tokens of each round; the first `steps` - 1 of them are verified"""
    excluded: list[Tokens] = []
    """for each position, tokens with q = 0 in the draft's row; all others have the same q"""

    @property
    def verified(self) -> list[list[int]]:
        return [draft[: self.steps - 1] for draft in self.drafts]

    def drafted_from(self, at: int) -> NDArray[np.float32]:
        """Return q at a position."""
        row = np.ones(self.logits.n, np.float32)
        excluded = self.excluded[at] if at < len(self.excluded) else []
        row[[token for token in excluded if token < len(row)]] = 0
        row /= row.sum()
        return row


def target_of(ready: Prepared[Any], past: Sequence[int]) -> NDArray[np.float32]:
    """Return p behind accepted tokens."""
    chain, cand = ready.build(), Candidates.from_logits(ready.rows[len(past)])
    for token in past:
        chain.accept(token)
    chain.apply(cand)
    row = np.zeros(ready.case.logits.n, np.float32)
    row[cand.ids] = cand.p
    return row


def round_of(ready: Prepared[Any], draft: Sequence[int]) -> list[list[int]]:
    """Return the tokens that each position of a round may have: an accepted one, or all that may
    come last. Raises UndefinedInputError if it is by chance that a drafted token is accepted."""
    for at, token in enumerate(draft):
        p, q = target_of(ready, draft[:at]), ready.case.drafted_from(at)
        if ready.case.rule == "matching":
            q, rest = np.zeros_like(p), p
            q[token] = 1
        else:
            rest = p * (p * _APART > q)
        if p[token] == 0 or q[token] == 0:
            return [*([each] for each in draft[:at]), np.flatnonzero(rest).tolist()]
        if not (p[token] == 1 or p[token] > q[token] * _APART):
            raise UndefinedInputError(f"draft {at + 1}: {token} is accepted by chance")
    last = np.flatnonzero(target_of(ready, draft)).tolist()
    return [*([each] for each in draft), last]


class RandomRounds(RandomBlock):
    """Random rounds of 3 to 8 drafts. A case has a round for each number of accepted drafts, in
    any order; if tokens are excluded, for each number of drafts that the target would give."""

    excludes: bool = False
    """exclude up to 2 tokens from the draft's row of each position"""
    several: bool = False
    """leave several tokens at a position, so that the rounds accept different drafts"""

    def case(self, draw: Draw, about: dict[str, Any], seed: int) -> RoundsCase:
        drafted, n = draw.number(3, 8), draw.one_of(self.sizes)
        chain = [draw.stage(name, REMEMBERING[name]) for name in draw.one_of(_CHAINS)]
        if draw.number(0, 1):
            name = draw.one_of([*_BEFORE])
            chain.insert(draw.number(0, len(chain)), draw.stage(name, _BEFORE[name]))
        ends = _SEVERAL if self.several else _ONE
        end = draw.one_of([*ends])
        given: dict[str, Any] = {
            "chain": [*chain, draw.stage(end, ends[end]), _DRAW],
            "steps": drafted + 1,
            "drafts": [[]],
            "logits": {"family": draw.one_of(self.families), "n": n, "seed": seed},
            "history": draw.tokens(4, 24, n),
            "rule": "rejection" if self.several else draw.one_of(["rejection", "matching"]),
        }
        case = RoundsCase.model_validate(about | given)
        accepted = draw.rng.permutation([*range(drafted + 1)] * (2 if self.several else 1))
        ready = prepare(case)
        whole = _draft(draw, ready, drafted, [])
        drafts = [_draft(draw, ready, number, whole) for number in accepted]
        often = [*whole, *case.history]
        for draft in drafts:
            draft += [draw.one_of(often) for _ in range(drafted - len(draft))]
        excluded = [[draw.one_of(often) for _ in range(draw.number(0, 2))] for _ in range(drafted)]
        changes = {"drafts": drafts, "excluded": excluded if self.excludes else []}
        return case.model_copy(update=changes)


def _draft(
    draw: Draw, ready: Prepared[RoundsCase], accepted: int, like: Sequence[int]
) -> list[int]:
    """Return a draft of so many tokens that are accepted for certain, and one that is not. like:
    another draft, whose tokens it has where they are possible, so that some differ in order."""
    draft: list[int] = []
    for at in range(min(accepted + 1, ready.case.steps - 1)):
        p, q = target_of(ready, draft), ready.case.drafted_from(at)
        sure = p == 0 if at == accepted else (p == 1) | (p > q * _APART)
        possible = np.flatnonzero(sure).tolist()
        liked = [token for token in possible if like.count(token) > draft.count(token)]
        draft.append(draw.one_of(liked or possible))
    return draft
