"""Define blocks of a suite that measure what a token trie saves.

docs/measure-speed.md explains them.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from sampler_parity.harness.checks.grid import NamedBlock, SuiteBlock
from sampler_parity.harness.checks.timed_records import Check
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.models import GOLDEN
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.trie.workloads import PROMPTS, leaf_texts


class ShortWorkload(SuiteBlock):
    """The part of a block that the quick profile takes."""

    leaves: list[str] = Field(min_length=1)
    """sets of leaves"""
    prompts: int = Field(ge=1, le=len(PROMPTS))
    """number of prompts"""
    rounds: int = Field(ge=1, le=limits.ROUNDS)
    """number of rounds"""


class Workload(SuiteBlock):
    """One set of leaves on one model, and its requirements."""

    check: ClassVar[str] = "skip_ratio"

    id: str
    model: str
    leaves: str
    prompts: int
    rounds: int
    delay_ms: float
    text_accuracy: float
    speed_up: float | None
    own_share: float | None

    def checks(self, measured: Measured) -> list[Check]:
        """Return the checks: the trie takes the tokens of the grammar in its spelling and leaves as
        many candidates as the reference's; then the limits of the block."""
        exact = -1.0 if measured.skip_ratio_exact is None else measured.skip_ratio_exact
        low = measured.tokens_per_second_vs_grammar_ci95[0]
        checks = [
            Check(what="token_accuracy", found=measured.token_accuracy, relation="=", limit=1.0),
            Check(
                what="skip_ratio_mean", found=measured.skip_ratio_mean, relation="=", limit=exact
            ),
            Check(what="skip_ratio_off", found=measured.skip_ratio_off, relation="=", limit=0),
        ]
        for what, value, limit in (
            ("text_accuracy", measured.text_accuracy, self.text_accuracy),
            ("tokens_per_second_vs_grammar_ci95.low", low, self.speed_up),
        ):
            if limit is not None:
                checks.append(Check(what=what, found=value, relation=">=", limit=limit))
        if self.own_share is not None:
            share = measured.own_share
            checks.append(Check(what="own_share", found=share, relation="<=", limit=self.own_share))
        return checks

    def validate_input(self, validator: FileValidator, place: str) -> None:
        """Do nothing: its model and leaves are read as the block is expanded."""


class SkipRatiosBlock(NamedBlock):
    """Each of leaves on each of models.

    Required are token accuracy 1 and the exact skip ratio.

    delays_ms: additional time of every forward pass, to try the model of
        docs/background/token-trie.md.

    text_accuracy: the least one, against the grammar of the texts.

    speed_up: the least low end of the interval of tokens_per_second_vs_grammar.

    own_share: the largest share of a step's grammar cost that the trie itself may cost.
    """

    models: list[str] = Field(default=[GOLDEN], min_length=1)
    """names of models"""
    leaves: list[str] = Field(min_length=1)
    """sets of leaves, as `trie-bench --token-tree-descriptor` takes them"""
    prompts: int = Field(default=len(PROMPTS), ge=1, le=len(PROMPTS))
    """how many of the prompts of `trie-bench`"""
    rounds: int = Field(default=5, ge=1, le=limits.ROUNDS)
    """how often each prompt is continued in each way"""
    delays_ms: list[float] = Field(default=[0.0], min_length=1)
    """milliseconds added to each forward pass"""
    text_accuracy: float = Field(default=0.0, ge=0, le=1)
    """at least this accuracy against the grammar of the texts"""
    speed_up: float | None = Field(default=None, gt=0)
    """at least this speed-up over the grammar, at the low end of its interval"""
    own_share: float | None = Field(default=None, gt=0)
    """the trie's own cost of a step is at most this share of the grammar's"""
    quick: bool | ShortWorkload = True
    """whether the quick profile takes the block, or what it takes"""

    def items(self, quick: bool) -> Iterator[Workload]:
        """Yield the workloads. Raises ValueError if quick names leaves that the block lacks,
        InputError for unknown leaves."""
        leaves, prompts, rounds = self.leaves, self.prompts, self.rounds
        if isinstance(self.quick, ShortWorkload):
            unknown = [name for name in self.quick.leaves if name not in leaves]
            if unknown:
                raise ValueError(f"quick.leaves: {unknown[0]!r} is not among the leaves")
            if quick:
                leaves, prompts = self.quick.leaves, self.quick.prompts
                rounds = self.quick.rounds
        elif quick and not self.quick:
            return
        for model, name, delay in itertools.product(self.models, leaves, self.delays_ms):
            if delay < 0:
                raise ValueError(f"delays_ms: {delay:g} is negative")
            if not Path(name).is_file():
                leaf_texts(name)
            suffix = f"+{delay:g}ms" if delay else ""
            yield Workload(
                id=f"{self.id}/{Path(name).stem}-{Path(model).stem}{suffix}",
                model=model,
                leaves=name,
                prompts=prompts,
                rounds=rounds,
                delay_ms=delay,
                text_accuracy=self.text_accuracy,
                speed_up=self.speed_up,
                own_share=self.own_share,
            )
