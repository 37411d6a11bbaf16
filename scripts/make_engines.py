"""Run `make engines`: `-m scripts.make_engines FOLDER REPORT [ENGINE...]`.

Install the missing environments, then run each engine: its suites next to the reference, its
properties (skipping what it does not claim) and its draws without the reference, a bundle each. No
failure stops another engine. Print a table and write a report of all. Exit status 1 if something is
not as required, or if an engine that was named does not run.
"""

import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.backends import installing, registry
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.checks.distribution.decisions import unmet
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.cli.output import error, print_line
from sampler_parity.harness.engines.engine_file import Engine
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.near import meant

PROPERTIES = "properties"
_CLI = [sys.executable, "-m", "sampler_parity.harness.cli"]
_HEAD = ("engine", "version", "install", "run", "as required", "draws", "")


@dataclass
class EngineOutcome:
    """An engine in the table. why: the reason that it does not run. wrong: what failed."""

    engine: str
    version: str = ""
    install: str = ""
    seconds: float = 0.0
    met: int = 0
    asked: int = 0
    equivalent: int = 0
    cells: int = 0
    why: str = ""
    wrong: list[str] = field(default_factory=list)

    def cells_of_row(self) -> tuple[str, ...]:
        cases = f"{self.met:,}/{self.asked:,}" if self.asked else "-"
        draws = f"{self.equivalent}/{self.cells}" if self.cells else "-"
        state = "FAILED" if self.wrong else "ok"
        run = f"{self.seconds:.0f} s"
        return self.engine, self.version, self.install or "-", run, cases, draws, state


def runs(row: Engine, folder: Path) -> list[list[str]]:
    """Return the arguments of each run; the last argument is the bundle."""
    file = row.name.replace("/", "-")
    own = [suite for suite in row.suites if suite != PROPERTIES]
    lines = [_run(own, row, folder / file, "reference", "--require-all")]
    if PROPERTIES in row.suites:
        lines.append(_run([PROPERTIES], row, folder / f"{file}-properties", "reference"))
    if row.draws:
        lines.append(_run([*row.draws], row, folder / f"{file}-draws", "", "--require-all"))
    return lines


def _run(suites: list[str], row: Engine, folder: Path, other: str, *options: str) -> list[str]:
    backends = [word for name in filter(None, (row.name, other)) for word in ("-b", name)]
    level = ["--accept", row.accept] if other and row.accept != "identical" else []
    return ["run", *suites, *backends, "--if-available", *options, *level, "-o", str(folder)]


def chosen(names: list[str]) -> list[Engine]:
    """Return the rows of engines or environments; all without names. Raises InputError."""
    rows = [row for row in ENGINES.values() if row.in_make_engines]
    if not names:
        return rows
    known = [word for row in rows for word in (row.name, row.environment) if word]
    for name in names:
        if name not in known:
            fix = meant(name, known, (row.name for row in rows))
            raise InputError(f"engine {name!r}", "`make engines` has none of that name", fix)
    return [row for row in rows if {row.name, row.environment} & {*names}]


def installed(rows: Iterable[Engine]) -> tuple[dict[str, str], dict[str, str]]:
    """Install the environments. Return how each came to be there, and why others failed."""
    how: dict[str, str] = {}
    failed: dict[str, str] = {}
    for name in dict.fromkeys(row.environment for row in rows if row.environment):
        try:
            record, made = installing.add(name, print_line)
        except InputError as refused:
            error(str(refused))
            failed[name] = str(refused)
        else:
            how[name] = f"{record.seconds:.0f} s" if made else "cached"
    return how, failed


def judged(row: Engine, folder: Path, install: str) -> EngineOutcome:
    """Run an engine's suites one after the other."""
    info = registry.inspect(row.name)
    if info.unavailable:
        return EngineOutcome(row.name, why=info.unavailable)
    outcome = EngineOutcome(row.name, info.version, install)
    begun = time.monotonic()
    for arguments in runs(row, folder):
        print_line(f"engine   {row.name}: {' '.join(arguments[1 : arguments.index('-b')])}")
        status = subprocess.run([*_CLI, *arguments]).returncode
        if status:
            outcome.wrong.append(f"exit status {status} - {arguments[-1]}")
        _count(outcome, Path(arguments[-1]))
    outcome.seconds = time.monotonic() - begun
    return outcome


def _count(outcome: EngineOutcome, folder: Path) -> None:
    """Count the results of a bundle. An unfinished bundle goes into `wrong`."""
    try:
        done = bundle.read_finished(folder)
    except InputError as error:
        outcome.wrong.append(str(error))
        return
    name = outcome.engine
    cases = [case for case in done.cases if name in case.backends and not case.skipped(name)]
    outcome.asked += len(cases)
    outcome.met += sum(case.met(name) for case in cases)
    cells = done.of(DistributionResult)
    drawn = [cell for cell in cells if cell.backends[name].decision != "skipped"]
    outcome.cells += len(drawn)
    outcome.equivalent += len(drawn) - len(unmet(cells))


def table(outcomes: list[EngineOutcome]) -> list[str]:
    """Return a line for each engine that ran, the others with the reason, and the sum."""
    ran = [one for one in outcomes if not one.why]
    rows = [_HEAD, *(one.cells_of_row() for one in ran)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows] if ran else []
    lines += [f"  {wrong}" for one in ran for wrong in one.wrong]
    lines += [f"{one.engine:<{widths[0]}}   not here: {one.why}" for one in outcomes if one.why]
    right = sum(not one.wrong for one in ran)
    return [*lines, f"engines  {right}/{len(ran)} as required, {len(outcomes) - len(ran)} not here"]


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    """Format a row: names and versions left, figures right, then the state."""
    left = [f"{word:<{width}}" for word, width in zip(cells[:2], widths[:2], strict=True)]
    right = [f"{word:>{width}}" for word, width in zip(cells[2:-1], widths[2:-1], strict=True)]
    return "   ".join([*left, *right, cells[-1]]).rstrip()


def check(folder: Path, report: Path, names: list[str]) -> int:
    """Run the engines; the exit status."""
    rows = chosen(names)
    how, failed = installed(rows)
    outcomes = [
        EngineOutcome(row.name, why=failed[row.environment])
        if row.environment in failed
        else judged(row, folder, how.get(row.environment, ""))
        for row in rows
    ]
    bundles = sorted(str(path) for path in folder.glob("*"))
    status = (
        subprocess.run([*_CLI, "report", *bundles, "-o", str(report)]).returncode if bundles else 0
    )
    for line in table(outcomes):
        print_line(line)
    return int(status != 0 or any(one.wrong or (names and one.why) for one in outcomes))


def main() -> None:
    try:
        sys.exit(check(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
    except InputError as refused:
        error(str(refused))
        sys.exit(2)


if __name__ == "__main__":
    main()
