"""Which cases a patch changes: the results of patched libraries, compared with the unpatched one's.

The reference judges the unpatched library, to the bit. Each patched one is compared with it by
digests, in a process of its own, so that the reference runs once.
"""

import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.errors import InputError
from studies.patches import digests
from studies.patches.table import UNPATCHED

# Quick suites of each backend; the first two are those of `make parity`.
SUITES = {"llama.cpp": ("parity", "generate", "grammar"), "llama.cpp/graph": ("graph",)}


@dataclass(frozen=True)
class Run:
    """cases: the suite of each case by its id. changed: the changed cases of each library."""

    cases: dict[str, str]
    changed: dict[str, set[str]]


def run(on: str, libraries: Mapping[str, Path], bundle: Path, processes: int) -> Run:
    """Run the suites of a backend on all libraries. The bundle of the unpatched one is kept, and
    used again. Raises InputError if a case of it is not as required."""
    if not bundle.exists():
        command = [sys.executable, "-m", "sampler_parity.harness.cli", "run", *SUITES[on]]
        command += ["-b", f"{on}@{libraries[UNPATCHED]}", "-j", str(processes), "-o", str(bundle)]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode:
            raise InputError(bundle, f"the unpatched library is not as required: {done.stdout}")
    cases = read_finished(bundle).cases
    suites, steps = {case.id: case.suite for case in cases}, {case.id: case.steps for case in cases}
    before: dict[str, str] = {}
    changed = {}
    for name, found in digests.all_digests(on, SUITES[on], steps, libraries):
        if name == UNPATCHED:  # it comes first
            before = found
        else:
            changed[name] = {case for case, digest in found.items() if digest != before[case]}
    return Run({case: suites[case] for case in before}, changed)


def problems(
    changed: Collection[str],
    patterns: Iterable[str],
    known: Iterable[str],
    decoded: Collection[str] = (),
) -> list[str]:
    """Return a line for each changed case that no pattern lists, each listed one that did not
    change, and each pattern that fits no case. decoded: those of the patterns whose cases change on
    some processors."""
    fits: dict[str, list[str]] = {pattern: [] for pattern in patterns}
    for case in known:
        for pattern, cases in fits.items():
            if fnmatchcase(case, pattern):
                cases.append(case)
    listed = {case for cases in fits.values() for case in cases}
    sure = {case for pattern, cases in fits.items() if pattern not in decoded for case in cases}
    return [
        *(f"changes, and is not listed: {case}" for case in sorted(set(changed) - listed)),
        *(f"is listed, and does not change: {case}" for case in sorted(sure - set(changed))),
        *(f"fits no case: {pattern}" for pattern, cases in fits.items() if not cases),
    ]
