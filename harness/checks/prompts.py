"""The base of suite blocks that give prompts to a model."""

from collections.abc import Mapping

from pydantic import Field, model_validator

from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.inputs.models import GOLDEN, golden_prompts
from sampler_parity.harness.strict import Id, Random, Tokens
from sampler_parity.harness.verdicts import Verdict


class Prompted(SuiteBlock):
    """A block that gives prompts to a model."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    model: str = GOLDEN
    """name or path of a GGUF file"""
    prompts: dict[Id, Tokens] = Field(default={})
    """token ids by name"""
    per_prompt: Random = 0
    """instead of `prompts`: prefixes of each of the golden model's prompts"""
    requires: dict[str, list[Verdict]] = Field(default={})
    tags: list[str] = Field(default=[])

    @model_validator(mode="after")
    def _one_source(self) -> "Prompted":
        if bool(self.prompts) == bool(self.per_prompt):
            raise ValueError("give either prompts or per_prompt")
        if self.per_prompt and self.model != GOLDEN:
            raise ValueError(f"per_prompt needs model = {GOLDEN!r}: its prompts are token ids")
        return self

    def all_prompts(self) -> Mapping[str, list[int]]:
        return self.prompts or golden_prompts(self.per_prompt)
