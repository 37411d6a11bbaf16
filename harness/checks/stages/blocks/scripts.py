"""Scripts: everything that can happen to an instance within a few operations.

A [[scripts]] block runs every script up to a length on each chain, and observes each instance at
its end: a state that is lost, kept or shared shows within five operations. Behind draws, clones and
resets are made next to the sizes at which a generator begins its next block.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import Field

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.checks.stages.operations import after_draws, exhaustive
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Id, Size, Tokens

_PACK = 24  # scripts of a case: its instances are alive together
_ROWS = 3  # no divisor of the scripts' lengths: an instance sees other rows in turn


class Scripts(NamedBlock):
    """Every script of operations up to a length, on each chain."""

    chains: dict[Id, ChainSpec]
    """chains by name"""
    length: int = Field(default=0, ge=0, le=5)
    """operations of the longest script; 0: none but those behind draws"""
    quick_length: int = Field(default=0, ge=0, le=5)
    """the same in the quick profile"""
    draws: list[int] = []
    """a clone is made, observed and reset after each of these numbers of samples"""
    quick_draws: list[int] = []
    """the same in the quick profile"""
    n: Size = 12
    """logits of a row"""
    history: Tokens = []
    """tokens that each instance has accepted before"""
    vocab: str | None = None

    def items(self, quick: bool) -> Iterator[Case]:
        length = self.quick_length if quick else self.length
        draws = self.quick_draws if quick else self.draws
        for name, chain in self.chains.items():
            scripts = iter(exhaustive(length) if length else [])
            number = 0
            while pack := list(islice(scripts, _PACK)):
                number += 1
                yield self._case(f"{name}/length-{length}/{number}", chain, pack)
            if draws:
                yield self._case(f"{name}/draws", chain, [after_draws(sorted(draws))])

    def _case(self, end: str, chain: ChainSpec, operations: list[str]) -> Case:
        fields: dict[str, Any] = {"operations": operations, "history": self.history}
        return case_from(
            self.about(end),
            chain=chain,
            logits=GeneratedLogits(family="normal", n=self.n, seed=len(operations)),
            steps=_ROWS,
            vocab=self.vocab,
            **fields,
        )
