"""Blocks of a suite that generate: every prompt on every chain.

docs/background/generation.md explains them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import SELECT, Case
from sampler_parity.harness.checks.grid import Prompted, SuiteBlock, fill
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import DecodedLogits
from sampler_parity.harness.inputs.models import n_vocab_of
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps


class Short(SuiteBlock):
    """The part of a block that the quick profile takes."""

    prompts: list[str] = Field(min_length=1)
    """names of prompts"""
    tokens: Steps
    """tokens of each"""


class GenerationCase(Case):
    """A prompt that a backend decodes, and a chain that selects `steps` tokens."""

    check: ClassVar[str] = "generation"
    chosen_by = ("logits.decoded",)
    requests = ("generate",)

    logits: DecodedLogits
    chain: ChainSpec = Field(default=[])
    steps: Steps = 1

    @model_validator(mode="after")
    def _selects(self) -> "GenerationCase":
        last = self.samplers[-1] if self.samplers else "none"
        if last not in SELECT:
            raise ValueError(f"the last stage must select a token, {last} does not")
        return self

    @property
    def chains(self) -> list[ChainSpec]:
        return [self.chain]

    @property
    def cost(self) -> int:
        return self.logits.n * self.steps * len(self.chain)

    def validate_input(self, validator: FileValidator, place: str) -> None:
        validator.judged(place, self.logits, None, [("chain", self.chain)])


class Generations(Prompted):
    """Every prompt on every chain. `"$prompt"` in a chain is the position of the prompt."""

    tokens: Steps
    """number of tokens to generate"""
    chains: dict[str, ChainSpec] = Field(default={})
    """chains by name; none: those of the file"""
    quick: bool | Short = True
    """whether the quick profile takes the block, or what it takes"""

    def items(self, quick: bool, shared: Mapping[str, ChainSpec]) -> Iterator[GenerationCase]:
        """Yield the cases. shared: the chains of the file. Raises ValueError if there are no chains
        at all, or if quick names an unknown prompt."""
        chains = self.chains or shared
        if not chains:
            raise ValueError("no chains: add chains to this block or to the file")
        prompts = self.all_prompts()
        taken, tokens = list(prompts), self.tokens
        if isinstance(self.quick, Short):
            unknown = [name for name in self.quick.prompts if name not in prompts]
            if unknown:
                raise ValueError(f"quick.prompts: {unknown[0]!r} is not a prompt")
            if quick:
                taken, tokens = self.quick.prompts, self.quick.tokens
        elif quick and not self.quick:
            return
        n = n_vocab_of(self.model)
        for i, name in enumerate(prompts):
            for chain, stages in chains.items() if name in taken else ():
                yield self._case(name, prompts[name], chain, fill(stages, {"prompt": i}, n), tokens)

    def _case(
        self, name: str, prompt: list[int], chain: str, stages: Any, tokens: int
    ) -> GenerationCase:
        return GenerationCase.model_validate(
            self.about(f"{chain}-{name}")
            | {
                "chain": stages,
                "logits": {"decoded": self.model, "prompt": prompt},
                "steps": tokens,
                "detail": "token",
            }
        )
