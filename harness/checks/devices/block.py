"""Blocks of a suite that decode: the logits of prompts on every device, and chains on them.
docs/background/devices.md explains them."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import fill
from sampler_parity.harness.checks.logits.block import LogitsCase
from sampler_parity.harness.checks.prompts import Prompted
from sampler_parity.harness.checks.stages.block import ChainCase
from sampler_parity.harness.inputs.logits import Computed
from sampler_parity.harness.inputs.models import GOLDEN, model_path, n_vocab_of
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps, Tokens


class DeviceCase(ChainCase):
    """A chain on the last `steps` rows of the logits that each backend computes."""

    check: ClassVar[str] = "devices"

    logits: Computed
    accept: Tokens = Field(default=[])
    """token to accept after each row, instead of the selected one"""

    @model_validator(mode="after")
    def _has_rows(self) -> "DeviceCase":
        if self.steps > len(self.logits.prompt):
            raise ValueError("steps are more than the prompt has tokens")
        return self


class Decodings(Prompted):
    """One case for each prompt that measures its logits, and one for each chain on them."""

    rows: Steps = 1
    """how many of the last rows of logits the chains sample from"""
    chains: dict[str, ChainSpec] = Field(min_length=1)
    keep: list[str] = Field(default=[])
    """names of the prompts whose last logits the bundle keeps"""
    quick: bool | list[str] = True
    """whether the quick profile takes the block, or names of the prompts that it takes"""

    @model_validator(mode="after")
    def _no_chain_named_logits(self) -> "Decodings":
        if "logits" in self.chains:
            raise ValueError("no chain can be named 'logits': the measurement is")
        return self

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the cases. Raises ValueError if quick or keep names an unknown prompt."""
        prompts = self.all_prompts()
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
            about = self._about(f"logits-{name}", computed)
            yield LogitsCase.model_validate(about)
            for chain, stages in self.chains.items():
                sampled = {
                    "chain": fill(stages, {"prompt": i}, n),
                    "steps": min(self.rows, len(prompt)),
                    "history": prompt,
                    "vocab": vocab,
                }
                about = self._about(f"{chain}-{name}", computed)
                yield DeviceCase.model_validate(about | sampled)

    def _about(self, name: str, logits: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": f"{self.id}/{name}",
            "description": self.description,
            "why": self.why,
            "logits": logits,
            "requires": self.requires,
            "tags": self.tags,
        }
