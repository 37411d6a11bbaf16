"""Blocks of a suite that decode texts alone and several at once.

docs/background/sequences.md explains them.
"""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.checks.prompts import Prompted
from sampler_parity.harness.inputs.logits import Crowded
from sampler_parity.harness.strict import Size, Steps


class Fewer(SuiteBlock):
    """The part of a block that the quick profile takes."""

    texts: Size
    """number of texts"""
    tokens: Steps
    """tokens of each text"""
    widths: list[Size] = Field(min_length=1)
    """how many texts are decoded at once"""


class InvarianceCase(Case):
    """Texts that are decoded alone and several at once."""

    check: ClassVar[str] = "invariance"

    logits: Crowded


class Invariances(Prompted):
    """One case with texts of equal length at each width. Prompts give the texts in turn."""

    texts: Size
    """number of texts"""
    tokens: Steps
    """tokens of each text"""
    widths: list[Size] = Field(min_length=1)
    """how many texts are decoded at once"""
    quick: bool | Fewer = True
    """whether the quick profile takes the block, or what it takes"""

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the case. Raises ValueError if the prompts have too few tokens."""
        if quick and not self.quick:
            return
        texts, tokens, widths = self.texts, self.tokens, self.widths
        if quick and isinstance(self.quick, Fewer):
            texts, tokens, widths = self.quick.texts, self.quick.tokens, self.quick.widths
        yield InvarianceCase.model_validate(
            {
                "id": self.id,
                "description": self.description,
                "why": self.why,
                "logits": {
                    "crowded": self.model,
                    "texts": self._texts(texts, tokens),
                    "widths": sorted(widths),
                },
                "requires": self.requires,
                "tags": self.tags,
            }
        )

    def _texts(self, count: int, tokens: int) -> list[list[int]]:
        prompts = list(self.all_prompts().values())
        longest = max(map(len, prompts))
        parts = [prompt[at : at + tokens] for at in range(0, longest, tokens) for prompt in prompts]
        whole = [part for part in parts if len(part) == tokens]
        if len(whole) < count:
            problem = f"{len(whole)} texts of {tokens} tokens, {count} are asked for"
            raise ValueError(f"the prompts have {problem}")
        return whole[:count]
