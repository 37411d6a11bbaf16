"""Skip a case on a backend that does not claim what the case needs.

An absence is a finding, and stays `unsupported`, if a suite requires `unsupported` of the backend,
or if a build is judged by the samplers of its own release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.support import way_of
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure, R, Unclaimed
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.reference.chain import parameters_of


def parted(
    case: Case, backends: Sequence[Backend], releases: Mapping[str, str]
) -> tuple[list[Backend], dict[str, BackendResult]]:
    """Return the backends to ask, and by name the results of those that skip the case."""
    asking: list[Backend] = []
    unasked: dict[str, BackendResult] = {}
    # without parameters: a claim is about the names of samplers
    claimed: ChainSpec = [{name: {}} for chain in case.claimed for stage in chain for name in stage]
    for backend in backends:
        chain_of_backend = case.own_chain(backend.name) or claimed
        try:
            for request in case.requests or (way_of(backend),):
                client.claim(backend, request, chain_of_backend)
            if _reads_vocabulary(case) and "no_vocab" in backend.hello().capabilities:
                raise Unclaimed("no vocabulary")
            if case.separates_prompt:
                client.claim(backend, "origin")
            asking.append(backend)
        except Unclaimed as missing:
            if "unsupported" in case.required(backend.name) or _of_release(backend, releases):
                asking.append(backend)
            else:
                unasked[backend.name] = BackendResult(verdict="skipped", detail=str(missing))
        except BackendFailure as failure:
            silent = failure.verdict != "unsupported"  # else its own replies give the reason
            asking.append(_Failed(backend.name, backend.scratch, failure) if silent else backend)
    return asking, unasked


def _reads_vocabulary(case: Case) -> bool:
    """Return whether a backend needs the vocabulary of a case. On given logits it does not for dry
    alone: the breakers are sent as tokens."""
    names = {name for chain in case.claimed for stage in chain for name in stage}
    samplers = filter(ALL_SAMPLERS.__contains__, names)
    readers = {name for name in samplers if "vocab" in parameters_of(ALL_SAMPLERS[name])}
    in_tokens = isinstance(case, GivenCase) and readers == {"dry"}
    return bool(getattr(case, "vocab", None)) and not in_tokens


def claimed_by(check: Any, backend: Backend) -> bool:
    """Return whether a backend claims all that a case or a distribution test needs. Raises
    BackendFailure without a greeting."""
    if isinstance(check, Case):
        return bool(parted(check, [backend], {})[0])
    hello = backend.hello()
    request = "speculative" if check.kind == "speculative" else "draws"
    return request in hello.capabilities and {*check.samplers} <= {*hello.samplers}


def _of_release(backend: Backend, releases: Mapping[str, str]) -> bool:
    """Return whether its samplers are those of a release; a release may judge any backend."""
    return backend.name in releases and backend.hello().name in ("llama.cpp", "reference")


def with_skipped(
    case: Case, judged: CaseResult | None, unasked: dict[str, BackendResult], names: list[str]
) -> CaseResult:
    """Return the result with the backends that skip the case. names: the order. judged: None if no
    backend was asked."""
    if judged is None:
        judged = CaseResult(
            id=case.id,
            samplers=case.samplers,
            steps=0,
            draws=case.n_draws,
            backends={},
            required={},
        )
    results = unasked | judged.backends
    required = {name: case.required(name) for name in unasked} | judged.required
    return judged.model_copy(
        update={
            "backends": {name: results[name] for name in names},
            "required": {name: required[name] for name in names},
        }
    )


@dataclass
class _Failed:
    """A backend whose greeting failed: it is not started again for the same case."""

    name: str
    scratch: Scratch
    failure: BackendFailure

    def hello(self) -> HelloReply:
        raise self.failure

    def ask(self, request: BaseModel, reply: type[R], timeout_s: float | None = None) -> R:
        raise self.failure

    def violation(self, message: str) -> BackendFailure:
        return self.failure

    def close(self) -> None:
        pass
