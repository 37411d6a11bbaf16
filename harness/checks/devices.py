"""Run a case on the logits that each backend's own device computes.

The reference judges the samplers on these logits. harness/checks/logits.py compares the devices.
docs/background/devices.md explains the blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, model_validator

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks import KINDS
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import merged
from sampler_parity.harness.checks.grid import Prompted, fill
from sampler_parity.harness.checks.logits import LogitsCase, Rows, rows_of
from sampler_parity.harness.checks.stages.block import ChainCase, StagesCase, unseeded
from sampler_parity.harness.checks.unseeded import UnseededCase
from sampler_parity.harness.inputs.logits import Computed, LiteralRows
from sampler_parity.harness.inputs.models import GOLDEN, model_path, n_vocab_of
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps, Tokens


class DeviceCase(ChainCase):
    """A chain on the last `steps` rows of the logits that each backend computes."""

    check: ClassVar[str] = "devices"
    chosen_by = ("logits.computed", "chain")
    requests = ("decode", "run")

    logits: Computed
    accept: Tokens = Field(default=[])
    """token to accept after each row, instead of the selected one"""

    @model_validator(mode="after")
    def _has_rows(self) -> "DeviceCase":
        if self.steps > len(self.logits.prompt):
            raise ValueError(f"steps: the prompt has only {len(self.logits.prompt)} tokens")
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
            raise ValueError("chains: rename 'logits', which is the name of the measurement")
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
            logits = {"computed": self.model, "prompt": prompt, "keep": name in self.keep}
            about = self.about(f"logits-{name}")
            yield LogitsCase.model_validate(about | {"logits": logits})
            for chain, stages in self.chains.items():
                sampled = {
                    "logits": logits,
                    "chain": fill(stages, {"prompt": i}, n),
                    "steps": min(self.rows, len(prompt)),
                    "history": prompt,
                    "vocab": vocab,
                }
                yield DeviceCase.model_validate(self.about(f"{chain}-{name}") | sampled)


Releases = Mapping[str, str]


def judge(
    case: DeviceCase, backends: Sequence[Backend], artifacts: Path | None, releases: Releases
) -> CaseResult:
    """Judge the case on each backend, on the logits that its own device computes."""
    return merged([_on_device(case, backend, artifacts, releases) for backend in backends])


def _on_device(
    case: DeviceCase, backend: Backend, artifacts: Path | None, releases: Releases
) -> CaseResult:
    try:
        rows = rows_of(backend, case.logits)
    except BackendFailure as failure:
        return CaseResult(
            id=case.id,
            samplers=case.samplers,
            steps=0,
            backends={backend.name: BackendResult(verdict=failure.verdict, detail=failure.whole)},
            required={backend.name: case.required(backend.name)},
        )
    of_rows = on_rows(case, rows)
    result: CaseResult = KINDS[of_rows.check].module.judge(of_rows, [backend], artifacts, releases)
    return result


def on_rows(case: DeviceCase, rows: Rows) -> StagesCase:
    """Return the case on the last logits of a device, given as literals."""
    kind = UnseededCase if unseeded(case.chain) else StagesCase
    fields = {name: getattr(case, name) for name in DeviceCase.model_fields}
    literal = LiteralRows(rows=rows[-case.steps :].tolist())
    return kind.model_construct(**fields | {"logits": literal})
