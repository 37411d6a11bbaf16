"""Bundles: the folder that a run writes and everything else reads.

    run.json        RunInfo: what was run, with what, on what machine
    results.jsonl   Header, then a result a line as they end, then Footer
    artifacts/      arrays of what diverged, one .npz a case and backend

This module reads bundles; harness/bundle/writer.py writes them. A bundle without a footer is
unfinished. A contradictory one is refused: a result that comes twice, another number of results
than in its footer, or records that changed after the footer was written.
"""

import functools
import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sampler_parity.harness.bundle.cases import Cases
from sampler_parity.harness.bundle.info import SHORT, BackendInfo, Footer, Header, RunInfo
from sampler_parity.harness.bundle.records import CaseResult, Result
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file, read_file, sha256_of
from sampler_parity.harness.processes.garbage import collection_paused
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.rows import joined, load, records
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.harness.strict import first_mistake

Record = Header | Result | Footer
R = TypeVar("R", bound=Result)
_FRAME = ("header", "footer")
_REDO = "make the bundle again"
_ENDS: dict[str, type[Record]] = {"header": Header, "footer": Footer}


@functools.cache
def model_of(kind: str) -> type[Record]:
    """Return the type of a record by its name in a line. Raises KeyError."""
    model: type[Record] = _ENDS[kind] if kind in _ENDS else load(records()[kind].model)
    return model


def result_types() -> list[type[Record]]:
    """Return the type of every result that a bundle may hold."""
    return [model_of(kind) for kind in records()]


@dataclass(frozen=True)
class Bundle:
    """Contents of a bundle. footer is None for an unfinished run.

    records: all but cases, by their `kind`. counts: of every kind of result, as the footer must
    state them.
    """

    folder: Path
    info: RunInfo
    cases: Cases
    footer: Footer | None
    records: Mapping[str, list[Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def backend(self, name: str) -> BackendInfo:
        """Return run.json's entry of a backend. Raises InputError if there is none."""
        if name not in self.info.backends:
            raise InputError(self.folder, f"backend {name!r} is not in run.json", _REDO)
        return self.info.backends[name]

    def of(self, model: type[R]) -> list[R]:
        """Return the results of a type. Those of cases are `cases`."""
        assert not issubclass(model, CaseResult)
        return self.records.get(model.model_fields["kind"].default, [])

    @property
    def has_no_case(self) -> bool:
        """Whether it has other results and no case; False for a bundle without any result."""
        return bool(self.counts) and self.counts.keys().isdisjoint(("case", "change", "decode"))

    @property
    def other_results(self) -> list[Any]:
        """Return the results of suites that are no cases."""
        kinds = dict.fromkeys(kind.record.kind for kind in joined("KINDS"))
        return [result for kind in kinds for result in self.records.get(kind, [])]


def done_ids(folder: Path) -> set[str]:
    """Return the ids of the results that a bundle, finished or not, has; none where there is no
    bundle."""
    path = folder / "results.jsonl"
    if not path.exists():
        return set()
    done = (r for _, r in records_of(path, torn_ok=True) if isinstance(r, Result))
    return {result.id for result in done if not result.unasked}


@phase("reading the bundle")
def read(folder: Path) -> Bundle:
    """Read a bundle. Raises InputError for one that is missing, torn or malformed. Cases, logits
    and cells stand in the order of their suites and ids, whichever ended first."""
    info = read_info(folder)
    by_kind: dict[str, list[Any]] = defaultdict(list)
    made_of = {name: backend.digest[:SHORT] for name, backend in info.backends.items()}
    cases = Cases()
    with collection_paused():
        for _, record in records_of(folder / "results.jsonl", torn_ok=False, cases=cases):
            by_kind[record.kind].append(record)
            _check_digests(folder, record, made_of)
        for case, _ in cases.alike():
            _check_digests(folder, case, made_of)
        cases.sort()
    footers = by_kind.pop("footer", [])
    footer = footers[-1] if footers else None
    by_kind.pop("header", None)
    if footer:
        check_run_json(folder, footer)
    for kind, results in by_kind.items():
        if records()[kind].ordered:
            results.sort(key=lambda result: (result.suite, result.id))
    counts = {kind: len(items) for kind, items in {**by_kind, "case": cases}.items() if items}
    return Bundle(
        folder=folder, info=info, cases=cases, records=dict(by_kind), footer=footer, counts=counts
    )


def _check_digests(folder: Path, record: Record, made_of: Mapping[str, str]) -> None:
    """Raise InputError for a result of other files than those of the run's backend."""
    for name, digest in getattr(record, "digests", {}).items():
        if made_of.get(name, digest) != digest:
            which = getattr(record, "id", "")
            problem = f"{which!r} was recorded with other files of {name} than run.json lists"
            raise InputError(folder / "results.jsonl", problem, _REDO)


def read_finished(folder: Path) -> Bundle:
    """Read a bundle that has its footer and the number of cases that it states."""
    bundle = read(folder)
    path = folder / "results.jsonl"
    if bundle.footer is None:
        raise InputError(path, "has no footer: the run did not finish", "use run --resume")
    for what, count, says in (
        ("cases", len(bundle.cases), bundle.footer.cases),
        ("distribution tests", bundle.counts.get("distribution", 0), bundle.footer.cells),
        ("skip ratios", bundle.counts.get("skip_ratio", 0), bundle.footer.skip_ratios),
    ):
        if count != says:
            raise InputError(path, f"holds {count} {what}, its footer has {says}", _REDO)
    stated = bundle.footer.records
    if stated and stated != bundle.counts:
        problem = f"holds {bundle.counts or 'nothing'}, its footer has {stated}"
        raise InputError(path, problem, _REDO)
    return bundle


def digest(folder: Path) -> str:
    """Return the digest of run.json and results.jsonl. Raises InputError."""
    both = hashlib.sha256()
    try:
        for name in ("run.json", "results.jsonl"):
            with (folder / name).open("rb") as file:
                while part := file.read(limits.MIB):
                    both.update(part)
    except OSError as error:
        raise InputError(folder, f"cannot be read: {error.strerror}") from None
    return both.hexdigest()


def read_info(folder: Path) -> RunInfo:
    path = folder / "run.json"
    if not os.path.exists(path):  # of a name of any length
        raise InputError(path, "missing", "name a folder that `sampler-parity run` wrote")
    try:
        return RunInfo.model_validate(json_of(read_file(path, limits.RUN_JSON)))
    except ValidationError as error:
        problem = f"malformed: {first_mistake(error)}"
    except ValueError as error:
        problem = f"malformed: {error}"
    raise InputError(path, problem, _REDO)


def check_run_json(folder: Path, footer: Footer) -> None:
    """Raise InputError if run.json has changed since the footer was written."""
    path = folder / "run.json"
    if footer.run_sha256 and footer.run_sha256 != sha256_of(path):
        problem = "has changed since the run: the footer of results.jsonl has another digest"
        raise InputError(path, problem, _REDO)


def records_of(
    path: Path, torn_ok: bool, cases: Cases | None = None
) -> Iterator[tuple[int, Record]]:
    """Yield each record with the byte offset behind it. Raises InputError for what contradicts
    itself.

    torn_ok: a last line without its end is passed over. cases: takes the cases, which are then not
    yielded.
    """
    try:
        file = open_file(path)
    except FileNotFoundError:
        raise InputError(path, "missing", _REDO) from None
    checks = _Checks(path)
    with file:
        end = 0
        lines = iter(lambda: file.readline(limits.RECORD), b"")
        for number, line in enumerate(lines, 1):
            if len(line) == limits.RECORD:
                raise InputError(f"{path}:{number}", "over 64 MiB in one line", _REDO)
            if not line.endswith(b"\n"):
                if torn_ok:
                    return
                raise InputError(f"{path}:{number}", "cut off in mid-line", "use run --resume")
            end += len(line)
            if cases is not None and (case_id := cases.add_line(line)) is not None:
                checks.take(number, line, "case", case_id)
                continue
            record = _parse(path, number, line)
            checks.take(number, line, record.kind, getattr(record, "id", ""), record)
            if cases is not None and isinstance(record, CaseResult):
                cases.add(record, line)
            else:
                yield end, record
        if end == 0:
            raise InputError(path, "empty", _REDO)


@dataclass
class _Checks:
    """Check what holds between the lines of a bundle. lines: by kind and id of each result, where
    it stands."""

    path: Path
    lines: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    footer: int = 0
    sha256: Any = field(default_factory=hashlib.sha256)

    def take(
        self, number: int, line: bytes, kind: str, id: str, record: Record | None = None
    ) -> None:
        """Check the next record. Raises InputError, which names file and line."""
        where = f"{self.path}:{number}"
        if (number == 1) != (kind == "header"):
            raise InputError(where, "the header must be in line 1, and only there")
        if self.footer:
            problem = f"comes after the footer in line {self.footer}"
            raise InputError(where, problem, _REDO)
        if isinstance(record, Footer):
            self.footer = number
            if record.sha256 and record.sha256 != self.sha256.hexdigest():
                problem = "a record above has changed since the run: the footer has another digest"
                raise InputError(where, problem, _REDO)
        elif kind not in _FRAME:
            first = self.lines[kind].setdefault(id, number)
            if first != number:
                problem = f"duplicate {kind} {id!r}, first in line {first}"
                raise InputError(where, problem, _REDO)
        self.sha256.update(line)


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        data = json_of(line)
        return model_of(data["kind"]).model_validate(data)
    except (ValueError, KeyError, TypeError) as error:
        problem = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{path}:{number}", f"malformed: {problem}", "make it again") from None


class BackendSummary(BaseModel):
    """judged: the cases that it was asked, of all; the others are skipped. wall_s: time that its
    requests took. backend_s: time inside its own sampler calls."""

    judged: int
    verdicts: dict[str, int]
    wall_s: float
    backend_s: float
    samplers: dict[str, dict[str, int]]


class Summary(BaseModel):
    cases: int
    steps: int
    wall_s: float
    backends: dict[str, BackendSummary]


def summarize(bundle: Bundle) -> Summary:
    """Count verdicts by backend, and by backend and sampler; a case counts for each of its
    samplers."""
    backends = {}
    for name in bundle.info.backends:
        results = [(case, case.backends[name]) for case in bundle.cases if name in case.backends]
        samplers: dict[str, Counter[str]] = defaultdict(Counter)
        for case, result in results:
            for sampler in sorted(set(case.samplers)):
                samplers[sampler][result.verdict] += 1
        backends[name] = BackendSummary(
            judged=sum(not case.skipped(name) for case, _ in results),
            verdicts=dict(Counter(result.verdict for _, result in results)),
            wall_s=sum(result.wall_s for _, result in results),
            backend_s=sum(result.ns for _, result in results) / 1e9,
            samplers={sampler: dict(counts) for sampler, counts in sorted(samplers.items())},
        )
    return Summary(
        cases=len(bundle.cases),
        steps=sum(case.steps for case in bundle.cases),
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        backends=backends,
    )
