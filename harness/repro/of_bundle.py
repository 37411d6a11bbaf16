"""The program of a failing case of a bundle: of what was made small of it, where there is such."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sampler_parity.harness.bundle.bundle import Bundle, read
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.parity.explain import record_of
from sampler_parity.harness.repro.program import Place, program
from sampler_parity.harness.suite.case import Case
from sampler_parity.harness.suite.of_bundle import case_of
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import check_known


@dataclass(frozen=True)
class Failure:
    """A case, on which backend it differs, and how it looks there."""

    case: Case
    backend: str
    result: BackendResult


def repro(folder: Path, name: str, backend: str | None = None) -> str:
    """The source of a program in C++. backend: the first that differs. Raises InputError for a
    bundle, a case or a backend that is not there, and where no such program can be written."""
    bundle = read(folder)
    failure = _failure(bundle, name, backend)
    info = bundle.backend(failure.backend)
    release = _release(failure.backend, info)
    if failure.result.stage_index is None:
        raise InputError(name, f"is {failure.result.verdict} at no stage", "name another case")
    place = Place(failure.result.step or 0, failure.result.stage_index, release, info.reference)
    about = (
        f"llama.cpp {release}, {failure.result.verdict}: {failure.result.what or 'another result'}"
    )
    return program(failure.case, place, about)


def _failure(bundle: Bundle, name: str, backend: str | None) -> Failure:
    record = record_of(bundle, name)
    differing = [b for b, r in record.backends.items() if r.verdict not in ("identical", "skipped")]
    if backend is not None and backend not in record.backends:
        raise InputError(name, f"was not run on {backend}", f"use {', '.join(record.backends)}")
    if backend is None and not differing:
        raise InputError(name, "differs on no backend", "name a case that fails")
    chosen = backend or differing[0]
    for small in bundle.counterexamples:
        if (small.case, small.backend) == (name, chosen) and small.smaller and small.result:
            try:
                return Failure(Case.model_validate(small.smaller), chosen, small.result)
            except ValidationError:
                break
    return Failure(case_of(bundle, record), chosen, record.backends[chosen])


def _release(backend: str, info: BackendInfo) -> str:
    """Raises InputError for what is no build of llama.cpp with its chain on the CPU."""
    if info.name != "llama.cpp":
        raise InputError(
            backend, "is no build of llama.cpp that a program could call", "name one that is: -b"
        )
    release = info.version.split(" ")[0]  # a wheel is told behind it
    try:
        check_known(release)
    except ChainError as error:
        raise InputError(backend, str(error), "name another: -b") from None
    return release
