"""The parts of a finished bundle must agree: digests, counts, verdicts, artifacts, dates.

A bundle that contradicts itself was changed, or written by something else than a run. The cases
that its suites require are checked by harness/run/resume_check.py.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib.metadata import version

from sampler_parity.harness.bundle import artifacts, writer
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RECORDING, SHORT, digest_of
from sampler_parity.harness.bundle.machine import digest_of_code
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, CounterexampleResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of

_FIX = "make the bundle again"


def refuse_contradictory(bundle: Bundle, today: date) -> None:
    """Raise InputError with the first contradiction of a finished bundle."""
    for problem in _contradictions(bundle, today):
        raise InputError(bundle.folder, problem, _FIX)
    writer.refuse_changed(bundle.folder, sha256_of(bundle.folder / "run.json"))


def started_on(bundle: Bundle) -> date | None:
    """Return the day of UTC on which the run started; None if run.json has no such date."""
    try:
        return datetime.fromisoformat(bundle.info.started).astimezone(UTC).date()
    except ValueError:
        return None


def _contradictions(bundle: Bundle, today: date) -> Iterator[str]:
    footer, info = bundle.footer, bundle.info
    assert footer is not None  # it is finished
    if not (footer.sha256 and footer.run_sha256):
        yield "its footer has no digests, and every run writes them"
    if footer.records != bundle.counts:
        yield f"its footer counts {footer.records or 'nothing'}, and it holds {bundle.counts}"
    steps = sum(n * case.steps for case, n in bundle.cases.alike())
    if bundle.cases and footer.steps != steps:
        yield f"its footer states {footer.steps:,} steps, and its cases have {steps:,}"
    if footer.wall_s < 0:
        yield f"its footer states {footer.wall_s:g} s"
    started = started_on(bundle)
    if started is None:
        yield f"its run started at no date: {info.started!r}"
    elif started > today:
        yield f"its run started on {started}, and the clock of this machine is at {today}"
    ours = info.machine.code == digest_of_code()
    if ours and info.version != version("sampler-parity"):
        yield f"it was made by this code, which is not that of version {info.version!r}"
    ran = {name for name, backend in info.backends.items() if not backend.unavailable}
    for name, backend in info.backends.items():
        if backend.digest != digest_of(backend.files):
            yield f"the digest of {name} is not that of its files"
        if ours and info.suites and backend.command and not (backend.digest or backend.unavailable):
            yield f"{name} has no digest of its files, and this version takes one"
    made_of = {name: info.backends[name].digest[:SHORT] for name in ran}
    repeat = _number(info.options.get("repeat", "1"))
    for case, _ in bundle.cases.alike():
        yield from _of_case(case, ran, repeat)
        if case.digests != made_of and any(made_of.values()):
            yield f"{case.id!r} states other files than run.json"
    yield from _traces(bundle)


def _of_case(case: CaseResult, ran: set[str], repeat: int) -> Iterator[str]:
    if case.backends.keys() != ran:
        have, expected = (", ".join(sorted(names)) or "none" for names in (case.backends, ran))
        yield f"{case.id!r} has results of {have}, and run.json names {expected}"
    if case.steps < 0:
        yield f"{case.id!r} has {case.steps} steps"
    if not case.samplers and case.suite != RECORDING:
        yield f"{case.id!r} has no sampler"
    for name, got in case.backends.items():
        where = f"{case.id!r} on {name}"
        runs = sum(got.asked.values()) or 1
        if runs != repeat and got.verdict not in ("crashed", "skipped") and not case.unasked:
            yield f"{where} was asked {runs} times, and the run asks {repeat}"
        wrong = [verdict for verdict in got.asked if verdict not in case.passing(name)]
        if wrong and got.verdict in case.passing(name):
            yield f"{where} is {got.verdict}, and was {wrong[0]} when it was asked again"
        if got.verdict == "identical" and (what := _difference(got)):
            yield f"{where} is identical, and has the {what} of a difference"


def _difference(got: BackendResult) -> str:
    """Return the name of a field that only a result that differs has, or ""."""
    fields = ("stage", "what", "values", "row")
    return next((name for name in fields if getattr(got, name)), "")


def _traces(bundle: Bundle) -> Iterator[str]:
    """Yield artifacts and counterexamples of cases that are stated to be identical."""
    folder = bundle.folder / "artifacts"
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    shrunk = {(result.case, result.backend) for result in bundle.of(CounterexampleResult)}
    if lost := {case for case, _ in shrunk} - {*bundle.cases.ids()}:
        yield f"a counterexample is of {min(lost)!r}, which is not in it"
    for case in bundle.cases if names or shrunk else ():
        for name, got in case.backends.items():
            where = f"{case.id!r} on {name} is identical, and"
            if got.verdict == "identical" and (case.id, name) in shrunk:
                yield f"{where} has a counterexample"
            if got.verdict == "identical" and names:
                for file in (artifacts.stage_file, artifacts.generation_file):
                    if file(case.id, name) in names:
                        yield f"{where} artifacts/{file(case.id, name)} shows a difference"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0
