"""`python -m studies.native.coverage`: the code of llama.cpp that the quick suites reach.

Compiles llama-sampler.cpp and llama-grammar.cpp with gcov's counters in front of the installed
libllama, runs the suites on that build, and writes a page. For common_sampler, which no suite
calls, it runs the tests (common.py).

Exit status 1 for an unreached line without a reason in unreached.toml, for a stale reason, for a
file with fewer than 95% of its branches taken or explained, and for a suite that fails here.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError
from studies.native import common, counts, page, reasons, sources
from studies.native.counts import Counts

FILES = (sources.SAMPLER, sources.GRAMMAR)
COMMON_FILES = (sources.COMMON, sources.BUDGET)
DUMP = Path(__file__).parent / "dump_on_abort.cpp"
OPTIONS = ["-O0", "-g", "--coverage"]
BRANCHES = 0.95  # taken or explained, of each file
ALL_EXAMPLES = os.environ | {"SAMPLER_PARITY_NIGHTLY": "1"}  # of the random tests, not a third
# A backend that is a copy of its judge ends without the exit handler that writes the counts.
UNFORKED = """\
from sampler_parity.harness.cli.__main__ import main
from sampler_parity.harness.protocol import process
process.may_fork = lambda: False
main()
"""


@dataclass(frozen=True)
class Part:
    """A folder of suites, run on a backend of the build; or a module with other checks."""

    name: str
    backend: str = ""
    module: str = ""

    def command(self, build: Path, bundle: Path) -> list[str]:
        if self.module:
            return [sys.executable, "-m", self.module, str(build), self.name]
        run = [sys.executable, "-c", UNFORKED, "run", self.name]
        return [*run, "-b", f"{self.backend}@{build}", "-o", str(bundle)]


PARTS = (
    Part("parity", "llama.cpp"),
    Part("grammar", "llama.cpp"),
    Part("generate", "llama.cpp"),
    Part("graph", "llama.cpp/graph"),
    Part("interface", module="studies.native.interface"),
)
COMMON_PARTS = tuple(Part(name, module="studies.native.common") for name in common.TESTS)

COUNTS = "counts.json"


def main() -> int:
    parser = argparse.ArgumentParser("studies.native.coverage", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("bundles/native-coverage"))
    parser.add_argument("--again", action="store_true", help="from the counts of the last run")
    asked = parser.parse_args()
    folder = asked.output.resolve()
    try:
        counted, failed = counts.load(folder / COUNTS) if asked.again else count(folder)
        problems = [*failed, *page.write(counted, reasons.read(), folder, BRANCHES)]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    for problem in problems:
        print(f"FAILED {problem}", file=sys.stderr)
    print(f"{folder / 'coverage.html'}, {folder / 'coverage.md'}")
    return 1 if problems else 0


def count(folder: Path) -> tuple[Counts, list[str]]:
    """Build, run, and keep the counts for updates of unreached.toml."""
    tree = sources.sources()
    paths = [tree / file for file in FILES]
    build = sources.build(folder / "build", [*paths, DUMP], OPTIONS, tree)
    counted, failed = run_parts(PARTS, build, paths, folder)
    paths = [tree / file for file in COMMON_FILES]
    build = common.build(folder / "common", [*paths, DUMP], OPTIONS, tree)
    of_common = run_parts(COMMON_PARTS, build, paths, folder)
    counted, failed = counted | of_common[0], failed + of_common[1]
    counts.save(folder / COUNTS, counted, failed)
    return counted, failed


def run_parts(
    parts: Iterable[Part], build: Path, files: list[Path], folder: Path
) -> tuple[Counts, list[str]]:
    """Return the counts of each part, and a line for each that does not end as it must."""
    counted: Counts = {file.name: {} for file in files}
    failed = []
    for part in parts:
        for old in build.glob("*.gcda"):
            old.unlink()
        command = part.command(build, fresh(folder / "bundles" / part.name))
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", env=ALL_EXAMPLES, check=False
        )
        print(f"{part.name:<27} {(done.stdout.strip().splitlines() or [''])[0]}", flush=True)
        if done.returncode:
            failed.append(f"{part.name}: {(done.stderr or done.stdout).strip()[-500:]}")
        for file in files:
            counted[file.name][part.name] = counts.read(build, file)
    return counted, failed


def fresh(bundle: Path) -> Path:
    """Return the folder's name, with nothing there."""
    shutil.rmtree(bundle, ignore_errors=True)
    return bundle


if __name__ == "__main__":
    sys.exit(main())
