"""Compare bundles: one column per hardware configuration, and how each differs.

A column is a backend of a bundle. It is compared with the first column of the same implementation
(the name in front of "@"): llama.cpp@v0.5.0:haswell with the first llama.cpp, tsampler with the
first tsampler. Two columns share a case if its id, its suite and the digest of its suite's file are
equal. Nothing here depends on the order of results or on times.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sampler_parity.harness.backends.engines import without_build
from sampler_parity.harness.bundle.artifacts import array_of, row_file
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo, MachineInfo, RunInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.distribution.decisions import decisions
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.logits import DecodeResult, Rows, divergence, largest_difference
from sampler_parity.harness.comparison import records
from sampler_parity.harness.comparison.figures import Figure, change_across, figures_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits

_MACHINE: dict[str, Callable[[RunInfo], str]] = {
    "started": lambda info: info.started,
    "sampler-parity": lambda info: info.version,
    "its own files": lambda info: info.machine.code[:12],
    "profile and seed": lambda info: f"{info.profile}, {info.seed}",
    "processor": lambda info: f"{info.machine.cpu}, {info.machine.cores} logical cores",
    "architecture": lambda info: info.machine.machine,
    "system": lambda info: info.machine.system,
    "C library": lambda info: info.machine.libc,
    "math library": lambda info: info.machine.libm,
    "GPU driver": lambda info: info.machine.driver,
    "Python": lambda info: info.machine.python,
}
_BACKEND: dict[str, Callable[[BackendInfo], str]] = {
    "version": lambda info: info.version,
    "build": lambda info: info.build,
    "files": lambda info: info.digest[:12],
    "libraries": lambda info: ", ".join(f"{n} {d[:12]}" for n, d in sorted(info.libraries.items())),
    "device": lambda info: info.device,
    "sandbox": lambda info: "in one" if info.sandbox else "",
    "judged by": lambda info: info.reference,
}


def facts(columns: list[tuple[RunInfo, BackendInfo]]) -> Iterator[records.Fact]:
    """Yield facts by column, without those that are unknown everywhere."""
    for name, of_backend in _BACKEND.items():
        yield from _fact(name, [of_backend(backend) for _, backend in columns])
    for name, of_run in _MACHINE.items():
        yield from _fact(name, [of_run(info) for info, _ in columns])
    machines = [info.machine for info, _ in columns]
    yield from _fact("processor features", [_flags(machine, machines[0]) for machine in machines])
    for package in sorted({name for machine in machines for name in machine.packages}):
        versions = [machine.packages.get(package, "not installed") for machine in machines]
        yield from _fact(package, versions)


def _fact(name: str, values: list[str]) -> Iterator[records.Fact]:
    if any(values):
        yield records.Fact(name=name, values=values, differs=len(set(values)) > 1)


def _flags(machine: MachineInfo, base: MachineInfo) -> str:
    """Return the number of flags; if they differ from the first column's, the added and missing
    ones."""
    flags, first = set(machine.cpu_flags), set(base.cpu_flags)
    if flags == first:
        return f"{len(flags)} features"
    signs = [f"+{flag}" for flag in sorted(flags - first)]
    return " ".join([*signs, *(f"-{flag}" for flag in sorted(first - flags))])


Source = tuple[Path, DecodeResult, str]
"""A bundle's folder, a prompt in it, and a backend."""


def kept_rows(a: Source, b: Source) -> tuple[Rows, Rows]:
    """Return the rows of two backends for one prompt. Raises InputError."""
    first, second = _row(*a), _row(*b)
    if first.shape != second.shape:
        problem = f"{b[2]} has a different number of logits at {b[1].id}"
        raise InputError(b[0], problem, "make the bundle again")
    return first, second


def _row(folder: Path, decoded: DecodeResult, backend: str) -> Rows:
    """Read the kept row, as float32[1, n_vocab]. Raises InputError."""
    path = folder / "artifacts" / row_file(decoded.id, backend)
    try:
        row = array_of(read_file(path, limits.ARRAYS))
    except (InputError, ValueError):
        raise InputError(path, "missing or malformed", "make the bundle again") from None
    if row.ndim != 1 or row.dtype != np.float32 or np.isnan(row).any():
        raise InputError(path, "is not a row of float32 logits", "make the bundle again")
    return np.asarray(row)[np.newaxis]


Key = tuple[str, str, str]


class _Side:
    """A column while it is compared."""

    def __init__(self, bundle: Bundle, name: str, label: str) -> None:
        self.bundle, self.name, self.label = bundle, name, label
        self.info: BackendInfo = bundle.info.backends[name]
        self.base: int | None = None
        digests = bundle.info.suites
        # of cases, and of distribution tests; a fault of the case itself counts as well
        self.verdicts: dict[Key, str] = {}
        self.places: dict[Key, str] = {}  # the stages that differ
        self.texts: dict[Key, str] = {}  # digests of generations
        for case in bundle.cases:
            if got := case.backends.get(name):
                key = case.suite, digests.get(case.suite, ""), case.id
                # Interned: a few texts stand for a million cases of each column.
                self.verdicts[key] = sys.intern(_state(case, name))
                self.places |= {key: got.stage} if got.stage else {}
                self.texts |= {key: got.text_sha256} if got.text_sha256 else {}
        cells = bundle.of(DistributionResult)
        decided = decisions(cells)
        self.decisions: dict[Key, str] = {
            (cell.suite, digests.get(cell.suite, ""), cell.id): decided[cell.id, name][0]
            for cell in cells
            if name in cell.backends
        }
        self.verdicts |= self.decisions
        self.cells = {cell.id: cell.backends[name] for cell in cells if name in cell.backends}
        self.prompts = {
            (d.model_sha256, d.prompt_sha256): d
            for d in bundle.of(DecodeResult)
            if name in d.backends and d.backends[name].sha256
        }
        self.figures = {(f.kind, f.id): f for f in figures_of(bundle) if f.backend == name}


def compare(bundles: list[Bundle]) -> records.BundleComparison | None:
    """Compare bundles; None if they have nothing in common. Raises InputError for a kept row that
    is missing or malformed."""
    sides = _sides(bundles)
    pairs = [(i, side, sides[side.base]) for i, side in enumerate(sides) if side.base is not None]
    columns = [_column(side, sides) for side in sides]
    logits = [_logits(i, side, base) for i, side, base in pairs]
    verdicts, cells = list(_verdicts(sides)), list(_cells(sides))
    speeds = list(_speeds(sides))
    together = {i for i, _, _ in pairs if columns[i].common}
    together |= {pair.column for pair in logits if pair.prompts}
    together |= {i for row in speeds for i, ratio in enumerate(row.ratios) if ratio is not None}
    if not together:
        return None
    return records.BundleComparison(
        ok=not any(column.differing for column in columns)
        and all(i in together for i, _, _ in pairs),
        columns=columns,
        runs={side.label: side.bundle.info for side in sides},
        unavailable=list(_unavailable(bundles)),
        facts=list(facts([(side.bundle.info, side.info) for side in sides])),
        verdicts=verdicts,
        logits=[pair for pair in logits if pair.prompts or pair.texts],
        cells=cells,
        speeds=speeds,
    )


def _sides(bundles: list[Bundle]) -> list[_Side]:
    labels = _labels([bundle.folder.resolve().name for bundle in bundles])
    sides = [
        _Side(bundle, name, label)
        for bundle, label in zip(bundles, labels, strict=True)
        for name, info in bundle.info.backends.items()
        if not info.unavailable
    ]
    first: dict[str, int] = {}  # by implementation; the base of its later columns
    for i, side in enumerate(sides):
        implementation = without_build(side.name)
        at = first.setdefault(implementation, i)
        side.base = None if at == i else at
    return sides


def _unavailable(bundles: list[Bundle]) -> Iterator[records.Unavailable]:
    labels = _labels([bundle.folder.resolve().name for bundle in bundles])
    for bundle, label in zip(bundles, labels, strict=True):
        for name, info in bundle.info.backends.items():
            if info.unavailable:
                yield records.Unavailable(bundle=label, backend=name, why=info.unavailable)


def _labels(names: list[str]) -> list[str]:
    """Return the names of the folders, numbered if a name occurs again."""
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def _state(case: CaseResult, backend: str) -> str:
    wrong = ["refused"] if case.refusal else []
    wrong += ["expectation missed"] if case.unmet else []
    return ", ".join([case.backends[backend].verdict, *wrong])


def _column(side: _Side, sides: list[_Side]) -> records.ComparisonColumn:
    counts: dict[str, int] = dict.fromkeys(
        ("common", "differing", "missing", "added", "changed"), 0
    )
    if side.base is not None:
        ours, there = side.verdicts, sides[side.base].verdicts
        common = [key for key in ours if key in there]
        mine, theirs = _without(ours, there), _without(there, ours)
        counts = {
            "common": len(common),
            "differing": sum(ours[key] != there[key] for key in common),
            "missing": len(theirs - mine),
            "added": len(mine - theirs),
            "changed": len(mine & theirs),
        }
    return records.ComparisonColumn(bundle=side.label, backend=side.name, base=side.base, **counts)


def _without(results: dict[Key, str], excluded: dict[Key, str]) -> set[tuple[str, str]]:
    return {(key[0], key[2]) for key in results if key not in excluded}


def _verdicts(sides: list[_Side]) -> Iterator[records.Verdicts]:
    """Yield the results that differ from the base in some column; the rows with most cases
    first."""
    states = [side.verdicts for side in sides]
    groups: dict[tuple[str, str, tuple[str | None, ...], tuple[str, ...]], list[str]]
    groups = defaultdict(list)
    for key in dict.fromkeys(key for state in states for key in state):
        verdicts = tuple(state.get(key) for state in states)
        if any(_apart(i, side.base, verdicts) for i, side in enumerate(sides)):
            places = tuple(side.places.get(key, "") for side in sides)
            tested = any(key in side.decisions for side in sides)
            what = "distribution" if tested else "case"
            groups[what, key[0], verdicts, places].append(key[2])
    for (what, suite, verdicts, places), cases in sorted(
        groups.items(), key=lambda item: (-len(item[1]), item[1])
    ):
        yield records.Verdicts(
            what=what, suite=suite, verdicts=[*verdicts], places=[*places], cases=sorted(cases)
        )


def _apart(i: int, base: int | None, verdicts: tuple[str | None, ...]) -> bool:
    return (
        base is not None
        and None not in (verdicts[i], verdicts[base])
        and verdicts[i] != verdicts[base]
    )


def _logits(column: int, side: _Side, base: _Side) -> records.LogitsBeside:
    pairs = [(base.prompts[key], side.prompts[key]) for key in base.prompts if key in side.prompts]
    both = [
        kept_rows((base.bundle.folder, a, base.name), (side.bundle.folder, b, side.name))
        for a, b in pairs
        if a.kept and b.kept
    ]
    texts = [(base.texts[key], text) for key, text in side.texts.items() if key in base.texts]
    return records.LogitsBeside(
        column=column,
        prompts=len(pairs),
        equal=sum(_digest(a, base.name) == _digest(b, side.name) for a, b in pairs),
        kept=len(both),
        top1=sum(int(a.argmax() == b.argmax()) for a, b in both),
        difference=max((largest_difference(a, b) for a, b in both), default=None),
        kl_max=max((float(divergence(a, b)[0]) for a, b in both), default=None),
        texts=len(texts),
        texts_equal=sum(a == b for a, b in texts),
    )


def _digest(decoded: DecodeResult, backend: str) -> str:
    return decoded.backends[backend].sha256


def _cells(sides: list[_Side]) -> Iterator[records.Cell]:
    """Yield every distribution test that a column and its base have; those apart first."""
    rows = []
    for key in dict.fromkeys(key for side in sides for key in side.decisions):
        has = [key in side.decisions for side in sides]
        if not any(has[i] and has[s.base] for i, s in enumerate(sides) if s.base is not None):
            continue
        intervals = [
            _interval(side, key[2]) if tested else None
            for side, tested in zip(sides, has, strict=True)
        ]
        disjoint = any(
            _disjoint(intervals[i], intervals[side.base])
            for i, side in enumerate(sides)
            if side.base is not None
        )
        decisions = [side.decisions.get(key) for side in sides]
        row = records.Cell(
            id=key[2], suite=key[0], decisions=decisions, intervals=intervals, apart=disjoint
        )
        rows.append(row)
    yield from sorted(rows, key=lambda row: (not row.apart, row.suite, row.id))


def _interval(side: _Side, cell: str) -> records.ConfidenceInterval | None:
    result = side.cells[cell]
    if result.estimate is None or result.low is None or result.high is None:
        return None
    return records.ConfidenceInterval(estimate=result.estimate, low=result.low, high=result.high)


def _disjoint(a: records.ConfidenceInterval | None, b: records.ConfidenceInterval | None) -> bool:
    return a is not None and b is not None and (a.low > b.high or b.low > a.high)


def _speeds(sides: list[_Side]) -> Iterator[records.Speed]:
    """Yield every figure that a column and its base have, the largest change first."""
    rows = []
    for key in dict.fromkeys(key for side in sides for key in side.figures):
        figures = [side.figures.get(key) for side in sides]
        bases = [None if side.base is None else figures[side.base] for side in sides]
        ratios = [_ratio(new, old) for new, old in zip(figures, bases, strict=True)]
        if any(ratios):
            unit = next(figure.unit for figure in figures if figure)
            values = [figure.median if figure else None for figure in figures]
            row = records.Speed(kind=key[0], id=key[1], unit=unit, values=values, ratios=ratios)
            rows.append(row)
    yield from sorted(rows, key=lambda row: (-_change(row), row.id))


def _ratio(new: Figure | None, old: Figure | None) -> records.Ratio | None:
    change = change_across(new, old) if new and old else None
    return records.Ratio(value=change.value, low=change.low, high=change.high) if change else None


def _change(row: records.Speed) -> float:
    return max(max(r.value, 1 / r.value) for r in row.ratios if r and r.value)
