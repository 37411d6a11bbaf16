"""`python -m sampler_parity.harness.cli.engines FOLDER`: every engine's own suites, a bundle each.

First beside the reference, so that the report names an engine that is not here, too; then its
properties, of which it is not asked for what it does not claim; then its draws, which the reference
need not repeat. The first run that is not met ends it with its status.
"""

import subprocess
import sys
from pathlib import Path

from sampler_parity.harness.backends.engines import ENGINES, Engine

PROPERTIES = "properties"
_CLI = [sys.executable, "-m", "sampler_parity.harness.cli"]


def runs(folder: Path) -> list[list[str]]:
    """The arguments of the command line, run by run."""
    rows = [row for row in ENGINES.values() if row.in_make_engines]
    runs: list[list[str]] = []
    for row in rows:
        own = [suite for suite in row.suites if suite != PROPERTIES]
        runs.append(_run(own, row, folder / _file(row), "reference", "--require-all"))
    runs += [
        _run([PROPERTIES], row, folder / f"{_file(row)}-properties", "reference")
        for row in rows
        if PROPERTIES in row.suites
    ]
    return runs + [
        _run([*row.draws], row, folder / f"{_file(row)}-draws", "", "--require-all")
        for row in rows
        if row.draws
    ]


def _run(suites: list[str], row: Engine, bundle: Path, beside: str, *options: str) -> list[str]:
    backends = [word for name in filter(None, (row.name, beside)) for word in ("-b", name)]
    return ["run", *suites, *backends, "--if-available", *options, "-o", str(bundle)]


def _file(row: Engine) -> str:
    return row.name.replace("/", "-")


def main() -> None:
    for arguments in runs(Path(sys.argv[1])):
        status = subprocess.run([*_CLI, *arguments]).returncode
        if status:
            sys.exit(status)


if __name__ == "__main__":
    main()
