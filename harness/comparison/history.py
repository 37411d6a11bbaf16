"""The figures of many bundles over time, in one SQLite file.

The digest of a bundle identifies it, so it counts once however often it is added. The file has
little of each: a run, its verdicts by backend and sampler, and its figures
(harness/comparison/figures.py).
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle, digest, read_finished
from sampler_parity.harness.checks.distribution.decisions import unmet as unmet_cells
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.comparison.figures import change_in_run, figures_of
from sampler_parity.harness.errors import InputError

FORMAT = 1
_APPLICATION = 0x73706879  # "sphy", so that another program's database is not taken for ours

_TABLES = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT NOT NULL, started TEXT NOT NULL,
    version TEXT NOT NULL, profile TEXT NOT NULL, seed INTEGER NOT NULL, cpu TEXT NOT NULL,
    cases INTEGER NOT NULL, met INTEGER NOT NULL, tests INTEGER NOT NULL,
    tests_met INTEGER NOT NULL
);
CREATE TABLE verdict (
    run INTEGER NOT NULL REFERENCES run, backend TEXT NOT NULL, version TEXT NOT NULL,
    sampler TEXT NOT NULL, verdict TEXT NOT NULL, cases INTEGER NOT NULL, met INTEGER NOT NULL,
    PRIMARY KEY (run, backend, sampler, verdict)
);
CREATE TABLE figure (
    run INTEGER NOT NULL REFERENCES run, kind TEXT NOT NULL, id TEXT NOT NULL,
    backend TEXT NOT NULL, unit TEXT NOT NULL, value REAL NOT NULL,
    ratio REAL, low REAL, high REAL,
    PRIMARY KEY (run, kind, id, backend)
);
"""


@dataclass(frozen=True)
class Run:
    """met: cases, of `cases`, that are as required on every backend. tests: of distributions, each
    on each backend."""

    id: int
    digest: str
    name: str
    started: str
    version: str
    profile: str
    seed: int
    cpu: str
    cases: int
    met: int
    tests: int
    tests_met: int


@dataclass(frozen=True)
class Counted:
    """Cases of a sampler on a backend in a run; a case counts for every sampler in its chain."""

    run: int
    backend: str
    version: str
    sampler: str
    cases: int
    met: int
    identical: int


@dataclass(frozen=True)
class MeasuredFigure:
    """ratio: to the first backend of the same run, with its interval; None for that itself."""

    run: int
    kind: str
    id: str
    backend: str
    unit: str
    value: float
    ratio: float | None
    low: float | None
    high: float | None


def add(database: Path, folders: list[Path]) -> list[tuple[Path, bool]]:
    """Add finished bundles: all of them or, after an error, none. Return whether each is new.
    Raises InputError for a bundle that is unfinished, torn or malformed, and for another file."""
    read = [(read_finished(folder), digest(folder)) for folder in folders]
    with _open(database, create=True) as connection:
        return [(bundle.folder, _add(connection, bundle, sha256)) for bundle, sha256 in read]


def runs(database: Path) -> list[Run]:
    """Return the runs, the oldest first."""
    with _open(database) as connection:
        return [Run(*row) for row in connection.execute("SELECT * FROM run ORDER BY started, id")]


def counts(database: Path) -> list[Counted]:
    with _open(database) as connection:
        return [
            Counted(*row)
            for row in connection.execute(
                "SELECT run, backend, version, sampler, sum(cases), sum(met),"
                " sum(cases * (verdict = 'identical')) FROM verdict"
                " GROUP BY run, backend, sampler ORDER BY backend, sampler, run"
            )
        ]


def measured(database: Path) -> list[MeasuredFigure]:
    with _open(database) as connection:
        rows = connection.execute("SELECT * FROM figure ORDER BY kind, id, backend, run")
        return [MeasuredFigure(*row) for row in rows]


@contextmanager
def _open(path: Path, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a transaction, which also makes the tables of a new file: a killed process leaves a file
    as it found it. Raises InputError for a file that is missing or not a history."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(path, "is a folder, a pipe or a device", "name a regular file")
    if not create and not path.is_file():
        raise InputError(path, "no such history", "make it: sampler-parity history add BUNDLE")
    try:
        # Without an isolation level the module begins and ends nothing by itself.
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE" if create else "BEGIN")
            _check(connection, path)
            yield connection
            connection.execute("COMMIT")  # closing takes back what was not committed
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be used as a history: {error}") from None


def _check(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != _APPLICATION and tables:
        raise InputError(path, "is a database of another program", "choose another file")
    if not tables:
        for table in filter(str.strip, _TABLES.split(";")):
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    elif version != FORMAT:
        problem = f"has format {version}, this version reads {FORMAT}"
        raise InputError(path, problem, "add the bundles to a new file")
    else:
        _check_tables(connection, path)


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the tables and kinds of values are ours, and no others."""
    # A fresh database in memory has the columns that the file must have.
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(_TABLES)
        columns = _columns(memory)
    extra = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('view', 'trigger')")
    if _columns(connection) != columns or extra.fetchone():
        raise InputError(path, "has other tables than a history", "add the bundles to a new file")
    for table, column, kind in columns:
        kinds = {"TEXT": "'text'", "INTEGER": "'integer'"}.get(kind, "'real', 'null'")
        wrong = f"typeof({column}) NOT IN ({kinds})"
        _no_rows(connection, path, table, wrong, f"a {column} that is not {kind}")
    for table in ("verdict", "figure"):
        wrong = "run NOT IN (SELECT id FROM run)"
        _no_rows(connection, path, table, wrong, "a run that does not exist")


def _no_rows(connection: sqlite3.Connection, path: Path, table: str, where: str, what: str) -> None:
    (wrong,) = connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
    if wrong:
        problem = f"table {table} has {wrong:,} rows with {what}"
        raise InputError(path, problem, "add the bundles to a new file")


def _columns(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return table, name and type of every column, in order."""
    query = (
        "SELECT tables.name, columns.name, columns.type FROM sqlite_schema AS tables,"
        " pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'"
        " ORDER BY tables.name, columns.cid"
    )
    return connection.execute(query).fetchall()


def _add(connection: sqlite3.Connection, bundle: Bundle, sha256: str) -> bool:
    counted = connection.execute("SELECT 1 FROM run WHERE digest = ?", (sha256,)).fetchone()
    if counted:
        return False
    info = bundle.info
    judged = sum(n for case, n in bundle.cases.alike() if case.judged)
    met = sum(n for case, n in bundle.cases.alike() if case.judged and case.ok)
    tests = sum(len(cell.backends) for cell in bundle.of(DistributionResult))
    unmet = len(unmet_cells(bundle.of(DistributionResult)))
    row = (sha256, bundle.folder.resolve().name, info.started, info.version, info.profile)
    at = connection.execute(
        "INSERT INTO run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, info.seed, info.machine.cpu, judged, met, tests, tests - unmet),
    ).lastrowid
    connection.executemany(
        "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(at, *rest) for rest in _verdicts(bundle)],
    )
    connection.executemany(
        "INSERT INTO figure VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(at, *rest) for rest in _figures(bundle)],
    )
    return True


def _verdicts(bundle: Bundle) -> Iterator[tuple[str, str, str, str, int, int]]:
    counted: Counter[tuple[str, str, str]] = Counter()
    met: Counter[tuple[str, str, str]] = Counter()
    for case, n in bundle.cases.alike():
        for name, result in case.backends.items():
            if case.skipped(name):
                continue
            for sampler in set(case.samplers):
                counted[name, sampler, result.verdict] += n
                met[name, sampler, result.verdict] += n * case.met(name)
    for (name, sampler, verdict), cases in sorted(counted.items()):
        version = bundle.backend(name).version
        yield name, version, sampler, verdict, cases, met[name, sampler, verdict]


def _figures(
    bundle: Bundle,
) -> Iterator[tuple[str, str, str, str, float, float | None, float | None, float | None]]:
    figures = list(figures_of(bundle))
    by_name = {(figure.kind, figure.id, figure.backend): figure for figure in figures}
    for figure in figures:
        base = by_name.get((figure.kind, figure.id, figure.baseline))
        change = change_in_run(figure, base) if base and base is not figure else None
        ratio = (change.value, change.low, change.high) if change else (None, None, None)
        yield figure.kind, figure.id, figure.backend, figure.unit, figure.median, *ratio
