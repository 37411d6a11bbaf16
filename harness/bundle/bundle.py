"""Bundles: the folder that a run writes and everything else reads.

    run.json        RunInfo: what was run, with what, on what machine
    results.jsonl   Header, then a result a line as they end, then Footer
    artifacts/      arrays of what diverged, one .npz a case and backend

Lines are flushed as they are written, so a killed run loses at most the line being written, and
that torn line is dropped when the run is resumed. Without its footer a bundle is unfinished.
"""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from sampler_parity.harness.bundle.artifacts import FREE_SPACE
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.bundle.records.change import ChangeResult
from sampler_parity.harness.bundle.records.decode import DecodeResult
from sampler_parity.harness.bundle.records.distribution import DistributionResult
from sampler_parity.harness.bundle.records.ends import Footer, Header
from sampler_parity.harness.bundle.records.skip_ratio import SkipRatioResult
from sampler_parity.harness.bundle.records.throughput import ThroughputResult
from sampler_parity.harness.bundle.records.timing import TimingResult
from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.protocol.messages import to_line
from sampler_parity.harness.strict import first_mistake

Result = (
    CaseResult
    | TimingResult
    | ChangeResult
    | DecodeResult
    | DistributionResult
    | CalibrationResult
    | SkipRatioResult
    | ThroughputResult
    | TimingCheckResult
)
Record = Header | Result | Footer
_FRAME = ("header", "footer")
_RECORDS: dict[str, type[Record]] = {
    kind.model_fields["kind"].default: kind for kind in get_args(Record)
}


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read. footer is None for an unfinished run.

    counts: of every kind of result, as the footer must state them.
    """

    folder: Path
    info: RunInfo
    cases: list[CaseResult]
    timings: list[TimingResult]
    changes: list[ChangeResult]
    decodings: list[DecodeResult]
    footer: Footer | None
    cells: list[DistributionResult] = field(default_factory=list)
    calibration: list[CalibrationResult] = field(default_factory=list)
    skip_ratios: list[SkipRatioResult] = field(default_factory=list)
    throughputs: list[ThroughputResult] = field(default_factory=list)
    timing_checks: list[TimingCheckResult] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def measures_only(self) -> bool:
        """Nothing in it can be right or wrong by the reference: timings and the like alone."""
        tested = (self.cases, self.cells, self.changes, self.decodings, self.calibration)
        measured = (self.timings, self.throughputs, self.timing_checks, self.skip_ratios)
        return not any(tested) and any(measured)


@dataclass
class BundleWriter:
    """Appends to a bundle. done holds the ids that it already has (of a resumed run)."""

    folder: Path
    info: RunInfo
    done: set[str] = field(default_factory=set)

    def append(self, *records: BaseModel) -> None:
        """Write records and hand them to the system. Raises InputError when the disk is full."""
        path = self.folder / "results.jsonl"
        lines = "".join(to_line(record) + "\n" for record in records)
        whole = path.stat().st_size
        try:
            with path.open("ab") as file:
                file.write(lines.encode())
                file.flush()
        except OSError as error:
            os.truncate(path, whole)  # keep what is readable readable
            raise cannot_write(path, error, FREE_SPACE) from None


def create(folder: Path, info: RunInfo) -> BundleWriter:
    """A new bundle. Raises InputError where one already is, or the folder cannot be written."""
    if (folder / "results.jsonl").exists():
        raise InputError(folder, "holds a bundle already", "use --resume or another -o")
    try:
        (folder / "artifacts").mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(info.model_dump_json(indent=2) + "\n")
        header = folder / "results.jsonl.new"
        header.write_text(Header().model_dump_json() + "\n")
        header.replace(folder / "results.jsonl")  # a bundle has its header or is none
    except OSError as error:
        raise cannot_write(folder, error, "choose another -o") from None
    return BundleWriter(folder, info)


def resume(folder: Path, info: RunInfo) -> BundleWriter:
    """Go on with an unfinished bundle; a torn last line is cut off.

    Raises InputError if it is another run: other suites, profile, seed or backends.
    """
    old = read_info(folder)
    for key in ("version", "suites", "profile", "seed", "only"):
        if getattr(old, key) != getattr(info, key):
            raise InputError(
                folder, f"was made with another {key}", "run again without --resume, to another -o"
            )
    if old.backends.keys() != info.backends.keys():
        raise InputError(folder, f"was made with backends {', '.join(old.backends)}")
    for name, backend in info.backends.items():
        if backend.reference != old.backends[name].reference:
            judge = old.backends[name].reference
            raise InputError(folder, f"judged {name} by {judge}", f"use --reference {judge}")
    path = folder / "results.jsonl"
    good = 0
    done: set[str] = set()
    footer_at: int | None = None
    for end, record in _records(path, torn_ok=True):
        if isinstance(record, Footer):
            footer_at = good
        elif isinstance(record, Result):
            done.add(record.id)
        good = end
    os.truncate(path, good if footer_at is None else footer_at)
    return BundleWriter(folder, old, done)


def done_ids(folder: Path) -> set[str]:
    """The ids of the results that a bundle, finished or not, has; none where there is no bundle."""
    path = folder / "results.jsonl"
    if not path.exists():
        return set()
    return {r.id for _, r in _records(path, torn_ok=True) if isinstance(r, Result)}


def read(folder: Path) -> Bundle:
    """Read a bundle. Raises InputError for one that is missing, torn or malformed.

    Cases, logits and cells stand in the order of their suites and ids, whichever ended first.
    """
    info = read_info(folder)
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for _, record in _records(folder / "results.jsonl", torn_ok=False):
        by_kind[record.kind].append(record)
    for kind in ("case", "decode", "distribution"):
        by_kind[kind].sort(key=lambda result: (result.suite, result.id))
    return Bundle(
        folder=folder,
        info=info,
        cases=by_kind["case"],
        timings=by_kind["timing"],
        changes=by_kind["change"],
        decodings=by_kind["decode"],
        cells=by_kind["distribution"],
        calibration=by_kind["calibration"],
        skip_ratios=by_kind["skip_ratio"],
        throughputs=by_kind["throughput"],
        timing_checks=by_kind["timing_check"],
        footer=by_kind["footer"][-1] if by_kind["footer"] else None,
        counts={
            kind: len(by_kind[kind]) for kind in by_kind if by_kind[kind] and kind not in _FRAME
        },
    )


def read_finished(folder: Path) -> Bundle:
    """Read a bundle that has its footer and the number of cases that it states."""
    bundle = read(folder)
    path = folder / "results.jsonl"
    if bundle.footer is None:
        raise InputError(path, "has no footer: the run did not finish", "use run --resume")
    if bundle.footer.cases != len(bundle.cases):
        raise InputError(
            path,
            f"holds {len(bundle.cases)} cases, its footer says {bundle.footer.cases}",
            "make the bundle again",
        )
    if bundle.footer.cells != len(bundle.cells):
        raise InputError(
            path,
            f"holds {len(bundle.cells)} distribution tests, its footer says {bundle.footer.cells}",
            "make the bundle again",
        )
    if bundle.footer.skip_ratios != len(bundle.skip_ratios):
        problem = f"holds {len(bundle.skip_ratios)} skip ratios"
        problem += f", its footer says {bundle.footer.skip_ratios}"
        raise InputError(path, problem, "make the bundle again")
    stated = bundle.footer.records
    if stated and stated != bundle.counts:
        problem = f"holds {bundle.counts or 'nothing'}, its footer says {stated}"
        raise InputError(path, problem, "make the bundle again")
    return bundle


def digest(folder: Path) -> str:
    """Of run.json and results.jsonl. Raises InputError."""
    try:
        contents = [(folder / name).read_bytes() for name in ("run.json", "results.jsonl")]
    except OSError as error:
        raise InputError(folder, f"cannot be read: {error.strerror}") from None
    return hashlib.sha256(b"".join(contents)).hexdigest()


def read_info(folder: Path) -> RunInfo:
    path = folder / "run.json"
    try:
        return RunInfo.model_validate_json(path.read_bytes())
    except OSError:
        raise InputError(path, "missing", "name a folder that `sampler-parity run` wrote") from None
    except ValidationError as error:
        problem = f"malformed: {first_mistake(error)}"
        raise InputError(path, problem, "make the bundle again") from None


def _records(path: Path, torn_ok: bool) -> Iterator[tuple[int, Record]]:
    """Each record with the byte offset behind it. Without a header nothing is a bundle."""
    try:
        file = path.open("rb")
    except OSError:
        raise InputError(path, "missing", "make the bundle again") from None
    with file:
        end = 0
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                if torn_ok:
                    return
                raise InputError(f"{path}:{number}", "cut off in mid-line", "use run --resume")
            end += len(line)
            record = _parse(path, number, line)
            if (number == 1) != isinstance(record, Header):
                raise InputError(f"{path}:{number}", "no header, or one in the wrong place")
            yield end, record
        if end == 0:
            raise InputError(path, "empty", "make the bundle again")


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        data = json.loads(line)
        return _RECORDS[data["kind"]].model_validate(data)
    except (ValueError, KeyError, TypeError) as error:
        problem = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{path}:{number}", f"malformed: {problem}", "make it again") from None
