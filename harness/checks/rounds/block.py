"""Rounds of speculative sampling that can be judged token by token: the chain leaves one token at
each position, so that every round has one right result. It shows what the chain has accepted: the
right drafts in their order, and nothing else.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from sampler_parity.harness.checks.random_block import REMEMBERING, Draw, RandomBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.strict import Tokens
from sampler_parity.reference import Candidates, UndefinedInputError

_CHAINS = [["penalties"], ["dry"], ["penalties", "dry"], ["dry", "penalties"]]
_ONE = [{"top_k": {"k": 1}}, {"dist": {"seed": 1}}]


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

    def rejects(self, at: int, token: int) -> bool:
        """Return whether a drafted token is rejected whatever the target's row is."""
        excluded = self.excluded[at] if at < len(self.excluded) else []
        return self.rule == "rejection" and token in excluded


def round_of(ready: Prepared[Any], draft: list[int]) -> list[int]:
    """Return the accepted tokens and one more. Raises UndefinedInputError if one is not certain."""
    accepted: list[int] = []
    while True:
        chain, cand = ready.build(), Candidates.from_logits(ready.rows[len(accepted)])
        for token in accepted:
            chain.accept(token)
        chain.apply(cand)
        if cand.p.tolist() != [1.0]:
            raise UndefinedInputError("the chain must leave one token, with a probability of 1")
        accepted.append(token := int(cand.ids[0]))
        if accepted != draft[: len(accepted)] or ready.case.rejects(len(accepted) - 1, token):
            return accepted


class RandomRounds(RandomBlock):
    """Random rounds of 3 to 8 drafts. A case has a round for each number of accepted drafts, in
    any order; if tokens are excluded, for each number of drafts that the target would give."""

    excludes: bool = False
    """exclude up to 2 tokens from the draft's row of each position"""

    def case(self, draw: Draw, about: dict[str, Any], seed: int) -> RoundsCase:
        drafted, n = draw.number(3, 8), draw.one_of(self.sizes)
        memory = [draw.stage(name, REMEMBERING[name]) for name in draw.one_of(_CHAINS)]
        of_round = {"chain": [*memory, *_ONE], "steps": drafted + 1, "drafts": [[]]}
        given = {
            "logits": {"family": draw.one_of(self.families), "n": n, "seed": seed},
            "history": draw.tokens(4, 24, n),
            "rule": draw.one_of(["rejection", "matching"]),
        }
        case = RoundsCase.model_validate(about | of_round | given)
        ready, right = prepare(case), list[int]()
        while len(right) < drafted:
            right = round_of(ready, right)
        drafts = [right]
        for accepted in range(drafted):
            wrong = (right[accepted] + draw.number(1, n - 1)) % n
            rest = [draw.one_of([*right, *case.history]) for _ in right[accepted + 1 :]]
            drafts.append([*right[:accepted], wrong, *rest])
        order = draw.rng.permutation(drafted + 1)
        drafts = [drafts[i] for i in order]
        often = [*right, *case.history]
        excluded = [[draw.one_of(often) for _ in range(draw.number(0, 2))] for _ in right]
        changes = {"drafts": drafts, "excluded": excluded if self.excludes else []}
        return case.model_copy(update=changes)
