"""`sampler-parity explain`: describe what went wrong in a bundle, or in one case of it."""

import shlex
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from numpy.typing import NDArray

from sampler_parity.harness.bundle.artifacts import array_of, stage_file
from sampler_parity.harness.bundle.bundle import Bundle, read
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, CounterexampleResult
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.differing import FOLDED
from sampler_parity.harness.failures.format_difference import lines, margin, row_of, stage_of_row
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.failures.misplaced import misplaced, notes
from sampler_parity.harness.files import open_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean

ROWS_AROUND = 4
_ARRAYS = ("ids", "logits", "p", "got_ids", "got_logits", "got_p")


def overview(folder: Path) -> Iterator[str]:
    """Yield lines for a terminal: every group of failures, the worst first, with its smallest case.
    Raises InputError if there is no bundle."""
    bundle = read(folder)
    failures = groups(bundle.info, bundle.cases, bundle.of(CounterexampleResult))
    for group in failures:
        version = bundle.backend(group.backend).version
        if group.verdict in FOLDED:
            yield f"{group.text}   {group.backend} {version}"
            continue
        yield from lines(group, f"{group.backend} {version}")
        yield from _arrays_of(bundle, group.example.case, group.backend, group.example.values)
    refused = [case for case in bundle.cases if case.refusal or case.unmet]
    for case in refused:
        yield f"{case.id}: {case.refusal or case.unmet}"
    yield from notes(bundle)
    if any(group.verdict != "skipped" for group in failures):
        worst = shlex.join(["sampler-parity", "explain", str(folder), failures[0].example.case])
        yield f"one case: {worst}"
    elif not refused:
        yield f"nothing to explain: {len(bundle.cases):,} cases, none failed"


def explanation(folder: Path, case: str) -> Iterator[str]:
    """Yield lines for a terminal. Raises InputError if there is no such bundle or case."""
    bundle = read(folder)
    record = record_of(bundle, case)
    for backend, result in record.backends.items():
        yield from _on_backend(bundle, record, backend, result)
    if record.refusal:
        yield f"the reference stopped after {record.steps} steps: {record.refusal}"
    if mistake := misplaced(record.samplers):
        yield f"note: {mistake}"
    if record.unmet:
        yield f"the reference itself misses the published result: {record.unmet}"
    yield from _counterexamples(bundle, record)


def _counterexamples(bundle: Bundle, record: CaseResult) -> Iterator[str]:
    """Yield the counterexamples of a case; a bundle of an old version has one, in the case."""
    counterexamples = [("", record.counterexample)] if record.counterexample is not None else []
    counterexamples += [
        (f" on {small.backend}", small.smaller)
        for small in bundle.of(CounterexampleResult)
        if small.case == record.id and small.smaller is not None
    ]
    for where, data in counterexamples:
        yield f"shrunk counterexample{where}:"
        yield from (f"  {line}" for line in _counterexample(data))


def record_of(bundle: Bundle, case: str) -> CaseResult:
    """Return the record of a case. Raises InputError if the bundle lacks it."""
    record = next((c for c in bundle.cases if c.id == case), None)
    if record is None:
        suggestion = did_you_mean(case, (c.id for c in bundle.cases))
        raise InputError(
            bundle.folder, f"has no case {case!r}", suggestion or "see the ids in its report"
        )
    return record


def _on_backend(
    bundle: Bundle, case: CaseResult, backend: str, result: BackendResult
) -> Iterator[str]:
    info = bundle.info
    yield from difference_lines(case, backend, bundle.backend(backend).version, result)
    yield from _arrays_of(bundle, case.id, backend, result.values)
    command = replay(info, case.suite or "parity", case.id, [backend])
    yield f"  replay: {command}"


def _arrays_of(bundle: Bundle, case: str, backend: str, values: dict[str, Any]) -> Iterator[str]:
    """Yield both sides at the first stage that differs, if the bundle has them."""
    artifact = bundle.folder / "artifacts" / stage_file(case, backend)
    if artifact.exists():
        yield from _side_by_side(artifact, _rank(values))


def _rank(values: dict[str, Any]) -> int:
    """Return the rank that differs; 0 if the bundle has no number."""
    rank = values.get("rank", 0)
    return rank if isinstance(rank, int) else 0


def difference_lines(
    case: CaseResult, backend: str, version: str, result: BackendResult
) -> Iterator[str]:
    """Yield the verdict, the first step and stage that differ, and both values."""
    position = ""
    if result.step is not None:
        position = f", step {result.step + 1} of {case.steps}"
        if result.stage_index is not None:
            position += f", stage {result.stage_index + 1} of {len(case.samplers)} ({result.stage})"
        if result.row is not None:
            position += f", {row_of(result.row)}, {stage_of_row(result.stage)}"
    yield f"{result.verdict.upper()} {case.id}   {backend} {version} vs reference{position}"
    yield from (f"  {line}" for line in result.detail.splitlines())
    if result.what and result.verdict != "misused":  # its detail has the numbers
        yield f"  first difference: {result.what} ({_values(result.values)})"
    if "margin" in result.values:
        yield f"  margin: {margin(result.values['margin'])}"


def _values(values: dict[str, Any]) -> str:
    plain: dict[str, Any] = {
        k: f"{v:.9g}" if isinstance(v, float) else v for k, v in values.items()
    }
    plain.pop("margin", None)
    survivors = plain.pop("survivors", None)
    parts = [f"{key} {value}" for key, value in plain.items()]
    counts = survivors if isinstance(survivors, dict) else {}
    if counts.keys() >= {"got", "expected"} and counts["got"] != counts["expected"]:
        parts.append(f"survivors: got {counts['got']}, expected {counts['expected']}")
    return ", ".join(parts)


def _side_by_side(artifact: Path, rank: int) -> Iterator[str]:
    arrays = arrays_of(artifact)
    n, n_got = len(arrays["ids"]), len(arrays["got_ids"])
    yield f"  {'rank':>6}  {'expected id, logit, p':<44} got id, logit, p"
    for i in range(max(0, rank - ROWS_AROUND), min(max(n, n_got), rank + ROWS_AROUND + 1)):
        want = _row(arrays, "", i) if i < n else "-"
        got = _row(arrays, "got_", i) if i < n_got else "-"
        mark = ">" if want != got else " "
        yield f"{mark} {i:>6}  {want:<44} {got}"


def arrays_of(artifact: Path) -> dict[str, NDArray[Any]]:
    """Return the six arrays of a difference. Raises InputError for a file that holds others."""
    try:
        with open_file(artifact) as file, zipfile.ZipFile(file) as members:
            unpacked = sum(member.file_size for member in members.infolist())
            if unpacked > limits.ARRAYS:
                raise InputError(artifact, f"unpacks to {unpacked:,} bytes", "run the case again")
            arrays = {name: _array(members, f"{name}.npy") for name in _ARRAYS}
    except (
        ValueError,
        KeyError,
        OSError,
        EOFError,
        RuntimeError,  # encrypted, or packed in a way that is not known
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(artifact, f"holds no arrays of a difference: {error}") from None
    sizes = [len({len(arrays[name]) for name in names}) for names in (_ARRAYS[:3], _ARRAYS[3:])]
    if sizes != [1, 1]:
        raise InputError(artifact, "ids, logits and p are not equally long", "run the case again")
    return arrays


def _array(members: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with members.open(name) as member:
        content = member.read(limits.ARRAYS)
    array = array_of(content)
    if array.ndim != 1 or array.dtype.kind not in "if":
        raise ValueError(f"{name} is {array.dtype}{list(array.shape)}")
    return array


def _row(arrays: Any, prefix: str, i: int) -> str:
    ids, logits, p = (arrays[prefix + key][i] for key in ("ids", "logits", "p"))
    return f"{ids} {logits:.9g} {p:.9g}"


def _counterexample(case: dict[str, Any]) -> list[str]:
    text = yaml.safe_dump(
        {k: v for k, v in case.items() if k not in ("description", "why", "tags")},
        sort_keys=False,
        default_flow_style=None,
        width=96,
    )
    return text.splitlines()
