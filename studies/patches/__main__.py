"""`python -m studies.patches [NAME ...]`: the cases that each patch of llama.cpp changes.

Each patch is applied to llama.cpp's fetched sources and compiled in front of the installed
libllama; so are all patches together, and the same files without one. The quick suites of parity,
generate and grammar run on all of these, those of the graph on the patches for it. The reference of
v0.5.0 judges the unpatched library; the others are compared with that one. A patch must change
exactly the cases that patches.toml lists, and the program of its finding must end as stated there.
Every library is kept: it is a backend, `-b llama.cpp@OUTPUT/NAME`.

Exit status 1 for any other change. NAME: only these patches. --again: with the libraries and the
bundle of the unpatched one of the last run, and without the programs.
"""

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sampler_parity.harness.errors import InputError
from studies.patches import build, changes, programs
from studies.patches.changes import Run
from studies.patches.table import ALL, UNPATCHED, Patch, read

Runs = Mapping[str, Run]


def main() -> int:
    parser = argparse.ArgumentParser("studies.patches", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=Path("bundles/patches"))
    parser.add_argument("-j", "--jobs", type=int, default=0, help="processes; 0: one a core")
    parser.add_argument("--again", action="store_true", help="use the last libraries")
    asked = parser.parse_args()
    folder = asked.output.resolve()
    try:
        patches = chosen(read(), asked.names)
        libraries = {name: folder / name for name in (UNPATCHED, *(p.name for p in patches), ALL)}
        failed = []
        if not asked.again:
            for bundle in bundles(patches, folder).values():
                shutil.rmtree(bundle, ignore_errors=True)
            failed = compiled(patches, libraries)
        runs = {
            on: changes.run(on, of_backend(on, patches, libraries), bundle, asked.jobs)
            for on, bundle in bundles(patches, folder).items()
        }
        print("\n".join(rows(patches, runs)))
        failed += judged(patches, runs)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for line in failed:
        print(f"FAILED {line}", file=sys.stderr)
    return 1 if failed else 0


def chosen(patches: Sequence[Patch], names: Sequence[str]) -> list[Patch]:
    """Return the patches of these names, or all. Raises InputError for an unknown one."""
    known = {patch.name for patch in patches}
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"patch {unknown[0]!r}", "there is none", f"use {', '.join(sorted(known))}"
        )
    return [patch for patch in patches if not names or patch.name in names]


def compiled(patches: Sequence[Patch], libraries: Mapping[str, Path]) -> list[str]:
    """Compile all libraries, and run the program of each finding on three of them: it must show the
    finding on the unpatched one only. Return a line for each that does not."""
    build.library([], libraries[UNPATCHED])
    for patch in patches:
        build.library([patch], libraries[patch.name])
    build.library(patches, libraries[ALL])
    failed = []
    for patch in patches:
        status, _ = programs.ran(programs.source_of(patch), libraries[UNPATCHED])
        if status != 1:
            failed.append(f"{UNPATCHED}: the program of {patch.name} ends with {status}, not 1")
        for name in (patch.name, ALL):
            failed += [f"{name}: {line}" for line in programs.problems(patch, libraries[name])]
    return failed


def bundles(patches: Iterable[Patch], folder: Path) -> dict[str, Path]:
    """Return the bundle of each backend on which one of the patches can change a case."""
    needed = {"llama.cpp", *(patch.on for patch in patches)}
    return {on: folder / f"run-{on.replace('/', '-')}" for on in changes.SUITES if on in needed}


def of_backend(on: str, patches: Iterable[Patch], libraries: Mapping[str, Path]) -> dict[str, Path]:
    """Return the libraries that run on a backend: in the graph, only those with patches for it."""
    for_it = [patch.name for patch in patches if on in (patch.on, "llama.cpp")]
    return {name: libraries[name] for name in (UNPATCHED, *for_it, ALL)}


def judged(patches: Sequence[Patch], runs: Runs) -> list[str]:
    """Return a line for each case that changes otherwise than listed. All patches together must
    change what the single ones do."""
    failed = []
    for on, ran in runs.items():
        listed = {patch.name: patch.patterns if patch.on == on else [] for patch in patches}
        decoded = {pattern for patch in patches for pattern in patch.decoded}
        listed[ALL] = [pattern for patterns in listed.values() for pattern in patterns]
        for name, changed in ran.changed.items():
            found = changes.problems(changed, listed[name], ran.cases, decoded)
            failed += [f"{name} on {on}: {line}" for line in found]
    return failed


def rows(patches: Iterable[Patch], runs: Runs) -> list[str]:
    """Return the changed cases of each patch, of how many, and their suites."""
    lines = ["| patch | cases that change | in |", "| --- | ---: | --- |"]
    for name in (*(patch.name for patch in patches), ALL):
        its = [ran for ran in runs.values() if name in ran.changed]
        suites = Counter(ran.cases[case] for ran in its for case in ran.changed[name])
        of = sum(len(ran.cases) for ran in its)
        where = ", ".join(f"{suite} {n:,}" for suite, n in suites.most_common())
        lines.append(f"| {name} | {suites.total():,} of {of:,} | {where} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
