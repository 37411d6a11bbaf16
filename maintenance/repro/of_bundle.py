"""Write the program of a failing case of a bundle, of the minimized case if there is one, and the
text of a report to the engine's project."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sampler_parity.harness.bundle.bundle import Bundle, read
from sampler_parity.harness.bundle.info import BackendInfo, MachineInfo
from sampler_parity.harness.bundle.records import BackendResult, CounterexampleResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explain import record_of
from sampler_parity.harness.suite.locate import case_of
from sampler_parity.maintenance.repro.asked import ComparedStage
from sampler_parity.maintenance.repro.program import program
from sampler_parity.maintenance.repro.report import Finding, report
from sampler_parity.maintenance.repro.scripts import engine_of, script, scripted
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import check_known
from sampler_parity.reference.registry import SAMPLERS


@dataclass(frozen=True)
class Failure:
    """A case, on which backend it differs, and how it looks there."""

    case: Case
    backend: str
    result: BackendResult


@dataclass(frozen=True)
class Repro:
    """file: the name in the head of the source. command: compiles, or installs, and runs it.
    report: to be sent by a person."""

    source: str
    file: str
    command: str
    report: str


def repro(folder: Path, name: str, backend: str | None = None) -> Repro:
    """Return a program, and a report with it. backend: by default the first that differs. Raises
    InputError for an unknown bundle, case or backend, and if no such program can be written."""
    bundle = read(folder)
    failure = _failure(bundle, name, backend)
    info, result = bundle.backend(failure.backend), failure.result
    native = info.name not in scripted()
    release = _release(failure.backend, info) if native else ""
    if result.stage_index is None:
        raise InputError(name, f"is {result.verdict}, but at no single stage", "name another case")
    if not native and result.verdict in ("reordered", "tied"):
        raise InputError(name, f"is {result.verdict}, but no logit differs", "name another case")
    if not native and result.what == "p" and result.stage in SAMPLERS:
        raise InputError(name, "differs in p, but in no logit", "name another case")
    compared = ComparedStage(result.step or 0, result.stage_index, release, info.reference)
    version = f"llama.cpp {release}" if native else info.version
    about = f"{version}, {result.verdict}: {result.what or 'another result'}"
    if native:
        source, file = program(failure.case, compared, about), "repro.cpp"
        command = source.splitlines()[2].removeprefix("// ")
    else:
        source, file = (
            script(info.name, info.version, failure.case, compared, about),
            engine_of(info.name).file,
        )
        steps = [line for line in source.splitlines()[:9] if line.lstrip("/ ").startswith(_STEPS)]
        command = " && ".join(line.lstrip("/ ") for line in steps)
    machine = bundle.info.machine
    finding = Finding(failure.case, result, version, info.build, info.reference, _platform(machine))
    return Repro(source, file, command, report(info.name, finding, source, file, command))


_STEPS = ("pip install", "python ", "npm install", "node ")


def _platform(machine: MachineInfo) -> str:
    return f"{machine.system} {machine.machine}, {machine.cpu}, {machine.libc}"


def _failure(bundle: Bundle, name: str, backend: str | None) -> Failure:
    record = record_of(bundle, name)
    differing = [b for b, r in record.backends.items() if r.verdict not in ("identical", "skipped")]
    if backend is not None and backend not in record.backends:
        raise InputError(name, f"was not run on {backend}", f"use {', '.join(record.backends)}")
    if backend is None and not differing:
        raise InputError(name, "differs on no backend", "name a case that fails")
    chosen = backend or differing[0]
    for small in bundle.of(CounterexampleResult):
        if (small.case, small.backend) == (name, chosen) and small.smaller and small.result:
            try:
                return Failure(case_from(small.smaller), chosen, small.result)
            except ValidationError:
                break
    return Failure(case_of(bundle, record), chosen, record.backends[chosen])


def _release(backend: str, info: BackendInfo) -> str:
    """Return the release. Raises InputError unless it is a build of llama.cpp with its chain on the
    CPU."""
    if info.name != "llama.cpp":
        engines = ", ".join(["llama.cpp", *scripted()])
        raise InputError(backend, f"a program can be written for {engines} only", "name one: -b")
    release = info.version.split(" ")[0]  # a wheel follows it
    try:
        check_known(release)
    except ChainError as error:
        raise InputError(backend, str(error), "name another: -b") from None
    return release
