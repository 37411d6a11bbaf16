"""Blocks of a suite that decode: the logits of prompts on every device, and chains on them.
docs/devices.md explains them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness.case import Case
from harness.models import GOLDEN, golden_prompts, model_path, n_vocab_of
from harness.protocol import ChainSpec
from harness.suite_grid import fill
from harness.verdicts import Verdict


class Decodings(BaseModel):
    """prompts: token ids by name; or per_prompt prefixes of each of the golden model's prompts.

    Each prompt is one case that measures its logits, and one for each chain on the last `rows` of
    them. keep: of these prompts the last logits are kept in the bundle. quick: what the quick
    profile takes of the prompts, by name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    model: str = GOLDEN
    prompts: dict[str, list[int]] = {}
    per_prompt: int = Field(default=0, ge=0)
    rows: int = Field(default=1, ge=1)
    chains: dict[str, ChainSpec] = Field(min_length=1)
    keep: list[str] = []
    requires: dict[str, list[Verdict]] = {}
    tags: list[str] = []
    quick: bool | list[str] = True

    @model_validator(mode="after")
    def _one_source(self) -> "Decodings":
        if bool(self.prompts) == bool(self.per_prompt):
            raise ValueError("give either prompts or per_prompt")
        if self.per_prompt and self.model != GOLDEN:
            raise ValueError(f"per_prompt needs model = {GOLDEN!r}: its prompts are token ids")
        if "logits" in self.chains:
            raise ValueError("no chain can be named 'logits': the measurement is")
        return self

    def cases(self, quick: bool) -> Iterator[Case]:
        """Raises ValueError where quick or keep names a prompt that is not there."""
        prompts: Mapping[str, list[int]] = self.prompts or golden_prompts(self.per_prompt)
        chosen = [] if isinstance(self.quick, bool) else self.quick
        for name in (*chosen, *self.keep):
            if name not in prompts:
                raise ValueError(f"quick or keep: {name!r} is not a prompt")
        if quick and self.quick is not True:
            prompts = {name: prompts[name] for name in chosen}
        n = n_vocab_of(self.model)
        vocab = self.model if self.model == GOLDEN else str(model_path(self.model))
        for i, (name, prompt) in enumerate(prompts.items()):
            computed = {"computed": self.model, "prompt": prompt, "keep": name in self.keep}
            yield self._case(f"logits-{name}", computed, chain=[], steps=1)
            for chain, stages in self.chains.items():
                yield self._case(
                    f"{chain}-{name}",
                    computed,
                    chain=fill(stages, {"prompt": i}, n),
                    steps=min(self.rows, len(prompt)),
                    history=prompt,
                    vocab=vocab,
                )

    def _case(self, name: str, logits: dict[str, Any], **other: Any) -> Case:
        return Case.model_validate(
            {
                "id": f"{self.id}/{name}",
                "description": self.description,
                "why": self.why,
                "logits": logits,
                "requires": self.requires,
                "tags": self.tags,
                **other,
            }
        )
