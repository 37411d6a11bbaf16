"""A run: cases to an executor, results to a bundle as they come.

A chunk of cases is the unit of work; each process of the executor starts its own backends once and
keeps them. Of a chunk whose process dies each case is run again, alone: the one that ends a process
by itself is `crashed`, and the run goes on.
"""

import datetime
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Protocol

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.artifacts import write_content
from sampler_parity.harness.bundle.info import BackendInfo, RunInfo
from sampler_parity.harness.bundle.records.change import ChangeResult
from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.checks.case import MEASURED, Case
from sampler_parity.harness.checks.devices.record import DecodeResult, LogitsFigures
from sampler_parity.harness.checks.devices.run import decode_result, measure
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.invariance.record import (
    InvarianceOnBackend,
    InvarianceResult,
)
from sampler_parity.harness.checks.invariance.run import invariance_result
from sampler_parity.harness.checks.invariance.run import measure as measure_invariance
from sampler_parity.harness.checks.late_failures import Charges
from sampler_parity.harness.checks.repeat import repeated
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures import drift
from sampler_parity.harness.processes.pool import Died
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference import ChainError
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.meaning import parted
from sampler_parity.reference.platforms import DEFAULT

_CHUNK_CASES = 50
_CHUNK_VALUES = 4_000_000

Result = CaseResult | DecodeResult | InvarianceResult


@dataclass(frozen=True)
class Terms:
    """On which terms cases are judged. repeat: how often each is asked. accept: what passes beside
    what a case requires. require_all: what a backend does not claim is asked, and a failure.
    versions: of each backend, what it says in the header of the run; none for what says none."""

    repeat: int = 1
    accept: Accept = "identical"
    require_all: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)


_started: dict[tuple[int, str, float], BackendProcess] = {}


def backend(name: str, timeout_s: float, version: str = "") -> BackendProcess:
    """This process's backend of that name. version: that of the run, which it must say, too."""
    key = (os.getpid(), name, timeout_s)  # what was forked leaves its parent's backends alone
    if key not in _started:
        _started[key] = registry.start(name, timeout_s, copied=True)
        # and not atexit, which a forked process of an executor passes by
        Finalize(None, _started[key].close, exitpriority=0)
    if version:
        _started[key].version = version
    return _started[key]


def versions_of(info: RunInfo, names: Iterable[str]) -> dict[str, str]:
    """What each of the backends says in the header of the run."""
    return {name: info.backends[registry.command_of(name)[0]].version for name in names}


def run_chunk(
    cases: list[tuple[str, Case]],
    names: dict[str, str | None],
    timeout_s: float,
    folder: str | None,
    terms: Terms = Terms(),
) -> list[Result]:
    """Run (suite, case) pairs; the function that an executor gets.

    names: the backends, and of each the release that it is judged by; None: v0.5.0, unasked.
    """
    backends = [backend(name, timeout_s, terms.versions.get(name, "")) for name in names]
    judged = zip(backends, names.values(), strict=True)
    releases = {b.name: release for b, release in judged if release is not None}
    artifacts = Path(folder) / "artifacts" if folder else None
    results: list[Result] = []
    charges = Charges(backends)
    for suite, case in cases:
        if case.kind in MEASURED:
            measured = _measured(case, backends, artifacts)
            results.append(measured.model_copy(update={"suite": suite}))
            charges.case_ended()
            continue
        ask = partial(_asked, case, backends, artifacts, releases, terms)
        try:
            result = ask()
            if terms.repeat > 1:
                result = repeated(ask, terms.repeat, result)
        except ChainError as error:
            raise InputError(f"{suite}: case {case.id}", str(error), "correct the chain") from None
        if not result.ok:
            result = result.model_copy(update={"why": case.why})
        results.append(result.model_copy(update={"suite": suite}))
        charges.case_ended()
    return charges.put_on(results)


def _measured(
    case: Case, backends: list[BackendProcess], artifacts: Path | None
) -> DecodeResult | InvarianceResult:
    if case.kind == "logits":
        return measure(case, backends, artifacts)
    return measure_invariance(case, backends)


def _asked(
    case: Case,
    backends: list[BackendProcess],
    artifacts: Path | None,
    releases: dict[str, str],
    terms: Terms,
) -> CaseResult:
    result = execute(case, backends, artifacts, releases, terms.require_all)
    return result.model_copy(update={"accept": terms.accept})


def run_chunk_apart(
    cases: list[tuple[str, Case]],
    names: dict[str, str | None],
    timeout_s: float,
    terms: Terms = Terms(),
) -> tuple[list[Result], dict[str, bytes]]:
    """As run_chunk where the bundle is out of reach; also the artifacts, by name."""
    with tempfile.TemporaryDirectory() as folder:
        artifacts = Path(folder) / "artifacts"
        artifacts.mkdir()
        results = run_chunk(cases, names, timeout_s, folder, terms)
        return results, {path.name: path.read_bytes() for path in artifacts.iterdir()}


class Executor(Protocol):
    """Processes that take calls: those of this machine (`Pool`), or of a cluster."""

    def each(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """The place and the result of each call as it ends; Died where its process did."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of one. Raises InputError where its process died."""


def chunks(cases: list[tuple[str, Case]]) -> Iterator[list[tuple[str, Case]]]:
    """Cases in portions of about equal work."""
    chunk: list[tuple[str, Case]] = []
    values = 0
    for suite, case in cases:
        chunk.append((suite, case))
        values += case.cost
        if len(chunk) == _CHUNK_CASES or values > _CHUNK_VALUES:
            yield chunk
            chunk, values = [], 0
    if chunk:
        yield chunk


def run_cases(
    cases: list[tuple[str, Case]],
    names: dict[str, str | None],
    executor: Executor,
    writer: BundleWriter,
    on_results: Callable[[Sequence[Result]], None],
    timeout_s: float = 60.0,
    apart: bool = False,
    terms: Terms = Terms(),
    fail_fast: int = 0,
    at_once: int = 1,
) -> list[Result]:
    """Run cases; append each chunk as it ends.

    apart: the executor's processes do not see the bundle's folder. fail_fast: how many failures end
    it, looked at whenever so many chunks have ended as there are `at_once`; 0: none.
    """
    results: list[Result] = []

    def enough() -> bool:
        return 0 < fail_fast <= sum(isinstance(r, CaseResult) and not r.ok for r in results)

    def run(portions: list[list[tuple[str, Case]]]) -> Iterator[tuple[list[tuple[str, Case]], str]]:
        """Each portion whose process died, and how."""
        function = run_chunk_apart if apart else run_chunk
        more = (terms,) if apart else (str(writer.folder), terms)
        calls = [(portion, names, timeout_s, *more) for portion in portions]
        for place, outcome in executor.each(function, calls):
            if isinstance(outcome, Died):
                yield portions[place], str(outcome)
                continue
            done = _kept(outcome, writer) if apart else outcome
            record(done)

    def record(done: list[Result]) -> None:
        writer.append(*done)
        results.extend(done)
        on_results(done)

    lost: list[tuple[str, Case]] = []
    portions = list(chunks(cases))
    together = at_once if fail_fast else max(1, len(portions))
    for first in range(0, len(portions), together):
        if enough():
            break
        for portion, _ in run(portions[first : first + together]):
            lost += portion
    for ((suite, case),), how in run([[case] for case in lost]):
        record([ended_its_process(suite, case, list(names), how)])
    return results


def ended_its_process(suite: str, case: Case, names: list[str], how: str) -> Result:
    """The result of a case that ends the process that judges it."""
    problem = f"the process that judged it died: {how}"
    shorts = [registry.command_of(name)[0] for name in names]
    if case.kind == "logits":
        failed = {name: LogitsFigures(failed=f"crashed: {problem}") for name in shorts}
        return decode_result(case, failed).model_copy(update={"suite": suite})
    if case.kind == "invariance":
        ended = {name: InvarianceOnBackend(failed=f"crashed: {problem}") for name in shorts}
        return invariance_result(case, ended).model_copy(update={"suite": suite})
    return CaseResult(
        id=case.id,
        suite=suite,
        samplers=case.samplers,
        steps=0,
        backends={name: BackendResult(verdict="crashed", detail=problem) for name in shorts},
        required={name: case.required(name) for name in shorts},
    )


def has_changed(meaning: str) -> bool:
    """Whether it is a release's that samplers meant otherwise in; not of another platform, on which
    no change is shown."""
    release, platform = parted(meaning)
    return release != NEWEST and platform == DEFAULT


def run_changes(
    done: list[CaseResult],
    cases: dict[str, Case],
    names: dict[str, str],
    timeout_s: float = 60.0,
) -> list[ChangeResult]:
    """What changed since the releases that these backends were judged by; for an executor, too."""
    releases = {registry.command_of(name)[0]: release for name, release in names.items()}
    full = {registry.command_of(name)[0]: name for name in names}

    def start(name: str) -> BackendProcess:
        return backend(full[name], timeout_s)

    return list(drift.change_results(done, cases, releases, start))


def _kept(sent: tuple[list[Result], dict[str, bytes]], writer: BundleWriter) -> list[Result]:
    """The results that came from elsewhere, with their artifacts put into the bundle."""
    results, files = sent
    for name, content in files.items():
        write_content(writer.folder / "artifacts" / name, content)
    return results


def describe(
    version: str,
    command: list[str],
    suites: dict[str, str],
    profile: str,
    seed: int,
    names: dict[str, str | None],
    only: Sequence[str] = (),
    ready_s: float | None = None,
) -> RunInfo:
    """run.json of this run; asks every backend what it is. names: see `run_chunk`.

    ready_s: the backends go on running, for `run_chunk` with that timeout.
    """

    def about(name: str) -> BackendInfo:
        if not ready_s:
            return registry.inspect(name)
        return registry.about(name, backend(name, ready_s))

    return RunInfo(
        version=version,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=command,
        suites=suites,
        profile=profile,
        seed=seed,
        only=list(only),
        backends={
            registry.command_of(name)[0]: about(name).model_copy(
                update={"reference": release or NEWEST}
            )
            for name, release in names.items()
        },
        machine=machine.describe(),
    )
