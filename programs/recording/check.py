"""Judge a recording, and write the results as a bundle that `report`, `explain` and `gate` read."""

import datetime
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.bundle.info import RECORDING, BackendInfo, Footer, RunInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.stages.arrays import room, save
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.messages import plain
from sampler_parity.harness.verdicts import Accept, passing, worst
from sampler_parity.programs.recording.events import OfEngine
from sampler_parity.programs.recording.info import changed, info_of
from sampler_parity.programs.recording.misuse import Misuse
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.replay import Applied, ChainUse
from sampler_parity.programs.recording.rules import UsedProcess
from sampler_parity.programs.recording.target import library_of, target_of

BACKEND = "recorded"


@dataclass
class Checked:
    """What was judged of a recording. targets: by process, the release it was judged by."""

    results: list[CaseResult] = field(default_factory=list)
    applies: int = 0
    chains: int = 0
    judged: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    torn: list[str] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def check(
    folder: Path, bundle: Path, accept: Accept, reference: str | None
) -> tuple[Checked, Bundle]:
    """Judge a recording and write a bundle. reference: release and platform; None: the recorded
    release. Raises InputError."""
    recording = Recording(folder)
    info = info_of(folder)
    for name in changed(folder, info) if info is not None and info.files else []:
        raise InputError(folder / name, "has changed since it was recorded")
    checked = Checked()
    for process in recording.processes:
        checked.targets[process.name] = reference or target_of(process, checked.notes)
    started = info.started if info else _now()
    about = _about(recording, checked, info.command if info else [], started)
    writer = create(bundle, about)
    for process in recording.processes:
        replay = UsedProcess(process, checked.targets[process.name])
        for applied in replay.run():
            _keep(bundle, applied, accept)
        replay.finish()
        for use in replay.uses:
            checked.applies += use.steps
            checked.judged += use.judged
            checked.unjudged += use.unjudged
            if use.steps:
                checked.results.append(_result(use, accept))
                checked.chains += 1
            checked.results += [_misused(use, misuse) for misuse in use.misuses.values()
                                if misuse.fails]  # fmt: skip
        checked.notes += _notes(replay)
        if process.torn:
            checked.torn.append(process.name)
    if not checked.results:
        shutil.rmtree(bundle)
        raise InputError(folder, "holds no application of a sampler chain: nothing to judge")
    writer.append(*checked.results)
    steps = sum(result.steps for result in checked.results)
    writer.close(
        Footer(
            cases=len(checked.results),
            steps=steps,
            wall_s=0,
            records={"case": len(checked.results)} if checked.results else {},
        )
    )
    return checked, read_finished(bundle)


def _notes(replay: UsedProcess) -> Iterator[str]:
    """Yield an abort outside of samplers, and each rule whose breach may be wanted, once."""
    for why in replay.aborts:
        yield f"process {replay.process.name} aborted outside of samplers: {why}"
    noted = [misuse for use in replay.uses for misuse in use.misuses.values() if not misuse.fails]
    for rule, n in Counter(misuse.rule for misuse in noted).items():
        first = next(misuse.text for misuse in noted if misuse.rule == rule)
        yield f"{first} ({n:,} chains)" if n > 1 else first


def _about(recording: Recording, checked: Checked, command: list[str], started: str) -> RunInfo:
    libraries = [library for process in recording.processes if (library := library_of(process))]
    paths = sorted({library.path for library in libraries})
    versions = {library.version or f"b{library.build}" for library in libraries}
    engines = {
        event.name: event.version
        for process in recording.processes
        for event in process.events()
        if isinstance(event, OfEngine)
    }
    backend = BackendInfo(
        command=command,
        name=", ".join(engines) or "libllama",
        version=", ".join(sorted(versions or engines.values())),
        reference=next(iter(checked.targets.values())),
        libraries={path: sha256_of(Path(path)) for path in paths if Path(path).is_file()},
    )
    return RunInfo(
        version=version("sampler-parity"),
        started=started,
        command=["sampler-parity", "check", str(recording.folder.resolve())],
        suites={},
        profile="full",
        seed=0,
        backends={BACKEND: backend},
        machine=machine.describe(),
    )


def _keep(bundle: Path, applied: Applied, accept: Accept) -> None:
    """Keep the first difference that does not pass, with its arrays."""
    at = _failing(applied, accept)
    if at is None or applied.use.first_difference is not applied:
        return
    stage = applied.stages[at]
    if (
        stage.want is not None
        and stage.after is not None
        and room(bundle, BACKEND, stage.recorded.name)
    ):
        after = stage.after
        got = Got(after.ids, after.logits, after.p, after.sorted, after.selected)
        save(bundle / "artifacts", _id(applied.use), BACKEND, stage.want, got)


def _failing(applied: Applied, accept: Accept) -> int | None:
    """Return the first stage that differs, if possible one that does not pass."""
    differ = [i for i, stage in enumerate(applied.stages) if stage.difference]
    ok = passing(["identical"], accept)
    return next(
        (i for i in differ if _verdict(applied, i) not in ok), differ[0] if differ else None
    )


def _verdict(applied: Applied, i: int) -> str:
    difference = applied.stages[i].difference
    return difference.verdict if difference else "identical"


def _id(use: ChainUse) -> str:
    return f"recording/{use.id}"


def _result(use: ChainUse, accept: Accept) -> CaseResult:
    """Return the result of a chain: its first difference, or what could not be judged."""
    unjudged = sum(use.unjudged.values())
    why = "; ".join(f"{count:,} stages: {reason}" for reason, count in use.unjudged.most_common(3))
    notes = [f"note {misuse.text}" for misuse in use.misuses.values() if not misuse.fails]
    detail = "; ".join([*([f"not judged: {why}"] if unjudged else []), *notes])
    if use.first_difference is not None:
        result = _of_difference(use, use.first_difference, accept, detail)
    elif use.judged:
        result = BackendResult(verdict="identical", detail=detail)
    else:
        result = BackendResult(verdict="skipped", detail=detail)
    return CaseResult(
        id=_id(use),
        suite=RECORDING,
        samplers=use.names,
        steps=use.steps,
        backends={BACKEND: result.model_copy(update={"ns": use.ns})},
        required={BACKEND: ["identical"]},
        accept=accept,
    )


def _misused(use: ChainUse, misuse: Misuse) -> CaseResult:
    """Return a case of its own for a breach of a rule of use: the stages may be right."""
    aborted = f"\nthe program aborted: {use.aborted}" if use.aborted else ""
    result = BackendResult(
        verdict="misused",
        step=misuse.step,
        what=misuse.rule,
        values=plain(misuse.numbers),
        detail=misuse.text + aborted,
    )
    return CaseResult(
        id=f"{_id(use)}/{misuse.rule}",
        suite=RECORDING,
        samplers=use.names,
        steps=max(use.steps, 1),
        backends={BACKEND: result},
        required={BACKEND: ["identical"]},
    )


def _of_difference(use: ChainUse, applied: Applied, accept: Accept, detail: str) -> BackendResult:
    at = _failing(applied, accept)
    assert at is not None
    counted = ", ".join(f"{count:,} {name}" for name, count in use.unlike.most_common())
    text = "; ".join(part for part in (f"stages that differ: {counted}", detail) if part)
    return result_of_stage(applied, at).model_copy(update={"detail": text})


def result_of_stage(applied: Applied, at: int) -> BackendResult:
    """Return the result of a stage that differs."""
    stage = applied.stages[at]
    assert stage.difference is not None
    return BackendResult(
        verdict=worst([stage.difference.verdict]),
        step=applied.step,
        stage=stage.recorded.name,
        stage_index=at,
        what=stage.difference.what,
        values=plain(stage.difference.values),
        ties=stage.difference.ties,
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
