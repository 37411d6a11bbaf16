"""Run a new release in a copy of the tree that has the edits."""

import difflib
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sampler_parity.harness
from sampler_parity.harness.bundle.bundle import Bundle, read
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.errors import InputError

# The tree that runs: a checkout, or a copy of one.
ROOT = Path(sampler_parity.harness.__file__).parent.parent
_REPOSITORY = Path(__file__).resolve().parent.parent.parent  # has the package scripts
EDITED = ("harness", "reference")
SUITES = ("parity", "grammar")


@dataclass(frozen=True)
class Cause:
    """Cases that fail at one stage. verdict: identical if it is the reference that fails a case.
    stage: the first that differs, "" if none does. what: how many by the quantity that differs.
    before: how many fail on the release before, too."""

    verdict: str
    stage: str
    what: Mapping[str, int]
    cases: list[str]
    before: int
    detail: str


def copied(root: Path, target: Path) -> Path:
    """Copy what the edits change; link the rest. Return the copy's tree, below `target`."""
    tree = target / "sampler_parity"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in EDITED:  # with Numba's machine code, which knows a file by its time
        shutil.copytree(root / name, tree / name)
    for name in ("engines", "golden", "reports", "suites"):
        (tree / name).symlink_to((root / name).resolve())
    return tree


def patch(root: Path, tree: Path) -> str:
    """Return the difference of two trees, for `git apply`."""
    text: list[str] = []
    for file in sorted(path for name in EDITED for path in (tree / name).rglob("*.*")):
        if file.suffix not in (".py", ".toml"):
            continue
        name = file.relative_to(tree).as_posix()
        path = root / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        new = file.read_text(encoding="utf-8")
        sides = old.splitlines(True), new.splitlines(True)
        text += difflib.unified_diff(sides[0], sides[1], f"a/{name}", f"b/{name}")
    return "".join(text)


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module with the packages of a copied tree."""
    folders = os.pathsep.join([str(tree.parent), str(_REPOSITORY)])
    environment = os.environ | {"PYTHONPATH": folders}
    command = [sys.executable, "-P", "-m", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")


def run(tree: Path, builds: Sequence[str], bundle: Path, more: Sequence[str] = ()) -> Bundle:
    """Run the quick suites on builds, compared with the newest modelled release. Raises
    InputError."""
    shutil.rmtree(bundle, ignore_errors=True)
    words = ["run", *SUITES, "-o", str(bundle), *more]
    words += [word for build in builds for word in ("-b", f"llama.cpp@{build}")]
    done = python(tree, "sampler_parity.harness.cli", *words)
    if done.returncode not in (0, 1):
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise InputError(bundle, f"the run did not end: {''.join(last)}")
    return read(bundle)


def causes(bundle: Bundle, build: str, before: str) -> list[Cause]:
    """Return the failed cases of a build by verdict and first differing stage, the most first."""
    mine, other = f"llama.cpp@{build}", f"llama.cpp@{before}"
    groups: dict[tuple[str, str], list[CaseResult]] = defaultdict(list)
    for case in bundle.cases:
        if mine in case.backends and case.failed(mine):
            result = case.backends[mine]
            groups[result.verdict, result.stage].append(case)
    found = []
    for (verdict, stage), cases in groups.items():
        results = [case.backends[mine] for case in cases]
        quantities = Counter(one.what for one in results if one.what)
        cases.sort(key=lambda case: (case.steps, len(case.id)))
        found.append(
            Cause(
                verdict,
                stage,
                what=dict(quantities.most_common()),
                cases=[case.id for case in cases],
                before=sum(other in case.backends and case.failed(other) for case in cases),
                detail=min((_detail(case, mine) for case in cases), key=len),
            )
        )
    return sorted(found, key=lambda cause: -len(cause.cases))


def only_before(bundle: Bundle, build: str, before: str) -> list[str]:
    """Return the cases that fail on the release before alone: what it had, the new one has not."""
    mine, other = f"llama.cpp@{build}", f"llama.cpp@{before}"
    return [case.id for case in bundle.cases if case.failed(other) and not case.failed(mine)]


def _detail(case: CaseResult, backend: str) -> str:
    """Return the message of a backend, or why the reference failed the case."""
    return case.backends[backend].detail or case.unmet or case.refusal
