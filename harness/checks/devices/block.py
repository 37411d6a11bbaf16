"""Blocks of a suite that decode: the logits of prompts on every device, and chains on them.
docs/devices.md explains them."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import fill
from sampler_parity.harness.checks.prompts import Prompted
from sampler_parity.harness.inputs.models import GOLDEN, model_path, n_vocab_of
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps


class Decodings(Prompted):
    """Each prompt is one case that measures its logits, and one for each chain on the last `rows`
    of them. keep: of these prompts the last logits are kept in the bundle. quick: what the quick
    profile takes of the prompts, by name.
    """

    rows: Steps = 1
    chains: dict[str, ChainSpec] = Field(min_length=1)
    keep: list[str] = Field(default=[])
    quick: bool | list[str] = True

    @model_validator(mode="after")
    def _no_chain_named_logits(self) -> "Decodings":
        if "logits" in self.chains:
            raise ValueError("no chain can be named 'logits': the measurement is")
        return self

    def items(self, quick: bool) -> Iterator[Case]:
        """Raises ValueError where quick or keep names a prompt that is not there."""
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
