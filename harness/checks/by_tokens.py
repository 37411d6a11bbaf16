"""Cases that judge the tokens of each backend alone, and their results."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pydantic import Field, model_validator

from sampler_parity.harness.backends.engines import without_build
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.outcome import outcome
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.inputs.chains import NamedChains
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.chronology import NEWEST


class TokensCase(GivenCase):
    """A case that is judged by the tokens of each backend."""

    instead: dict[str, ChainSpec] = Field(default={})
    """by backend, the same task as a chain of that engine's own stages"""

    @model_validator(mode="after")
    def _draws(self) -> "TokensCase":
        last = self.samplers[-1] if self.samplers else "none"
        if last not in ("dist", "greedy"):
            raise ValueError(f"the last stage must be dist or greedy, not {last}")
        return self

    def chain_on(self, backend: str) -> ChainSpec:
        """Return the chain that a backend runs."""
        return self.instead.get(backend, self.instead.get(without_build(backend), self.chain))

    def own_chain(self, backend: str) -> ChainSpec | None:
        return self.chain_on(backend) if self.instead else None

    @property
    def named_chains(self) -> NamedChains:
        others = [(f"instead.{name}", chain) for name, chain in self.instead.items()]
        return [*super().named_chains, *others]


Judge = Callable[[Backend], BackendResult]


def result_of_each(
    case: Case, steps: int, releases: Mapping[str, str], backends: Sequence[Backend], judge: Judge
) -> CaseResult:
    """Return each backend's result; `unsupported` is required if its release lacks a sampler."""

    def required(backend: Backend) -> list[Verdict]:
        release = releases.get(backend.name, NEWEST)
        there = all(has(sampler, release) for sampler in case.samplers)
        return case.required(backend.name) if there else ["unsupported"]

    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=steps,
        backends={backend.name: outcome(partial(judge, backend)) for backend in backends},
        required={backend.name: required(backend) for backend in backends},
    )


def property_of(case: Case) -> str:
    """Return the property of a case: the first part of its id, which is the name of its suite."""
    return case.id.partition("/")[0]
