"""Rows: what a package adds to the harness, by name, so that nothing else lists it.

A `rows.py` holds tuples of them: KINDS of checks, further RECORDS of a bundle, PAGES of a report,
FOLDERS with a page of their own, COMMANDS, WORKERS that are no engine, and what makes SUITES of
other files than TOML. `joined` finds the `rows.py` of each package of the harness and of every
folder next to it. A row names modules and classes as text, which is imported when first used.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

PRODUCT = __name__.partition(".")[0]


CHECK_MINE, MEASURE, GATE, MAINTAIN = "Check mine", "Measure", "Gate", "For maintainers"


@dataclass(frozen=True)
class CommandRow:
    """A command. place: among all commands in the help; the smallest is first. panel: its part of
    the help. about: the beginning of its docstring, so that the help need not load the command.
    package: where its file is, which has the name of the command."""

    name: str
    place: int
    panel: str
    about: str
    package: str = "harness.cli"
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteTable:
    """A table of a suite file that becomes items. model: of a block; about: one line for the docs.
    key: a key of the block that selects this model, if several kinds have a table of this name."""

    name: str
    model: str
    about: str
    key: str = ""


@dataclass(frozen=True)
class PageRow:
    """A page of the report. place: among the pages; the smallest is shown first. kinds: of the
    records that it shows in addition to its row's. A page in no row of a record may show all."""

    page: str
    place: int = 100
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class FolderRow:
    """A folder that `report` reads, other than a bundle. holds: a pattern of files in it. noun: its
    name in a message. write: writes its page into a folder and returns the files. compared_by: the
    command that compares two of them."""

    holds: str
    noun: str
    write: str
    compared_by: str = ""


@dataclass(frozen=True)
class GateRow:
    """A table of rules in a policy. rule: its model; judge: returns the outcome of each rule.

    noun: the results that the rules are about, for the note that none is; "" for no note. unruled:
    yields the results of the released thing that no rule judges; they fail `[subject]`.
    """

    table: str
    about: str
    noun: str = ""
    rule: str = "harness.gate.policy:ResultRule"
    judge: str = ""
    unruled: str = ""


@dataclass(frozen=True)
class RecordRow:
    """A kind of record of a bundle. kind: in its line; model: its type, a Result.

    noun: how index.html counts them; "" for not at all. ordered: a bundle is read in the order of
    suites and ids. lines: yields the lines that `run --verbose` prints of one; by default its name.
    refused: returns why the gate must refuse a bundle with such records, or "". compared: prints
    how bundles of such records differ, and returns whether they are alike.
    """

    kind: str
    model: str
    noun: str = ""
    ordered: bool = True
    lines: str = ""
    page: PageRow | None = None
    gate: tuple[GateRow, ...] = ()
    refused: str = ""
    compared: str = ""

    def shown(self, result: Any) -> Iterator[str]:
        yield from load(self.lines)(result) if self.lines else [f"{self.kind} {result.id}"]


@dataclass(frozen=True)
class CheckKind:
    """A kind of check.

    run: its module, with `judge` of a case, else `run` and `died`, or `measure` if it is timed; by
    default the module of its name. case: the class of a `[[case]]`. tables: further tables of a
    suite.

    seconds: estimate for an item on one backend, from quick runs on a busy two-core Xeon. called:
    the name of its items in a plan, by default its own. noun: their name during a run.

    timed: runs alone on this machine, after all judged items. each: every backend has a result of
    its own. cases: its items are cases, which `--seed` changes. own_ids: an id begins with the
    kind, not the suite. counts: a run with no other results has judged something.

    measured: the summary of a timed kind. unmet: returns the results that are not as required; by
    default those whose `ok` is false.
    """

    name: str
    seconds: float
    record: RecordRow
    run: str = ""
    called: str = ""
    noun: str = "cases"
    case: str = ""
    tables: tuple[SuiteTable, ...] = ()
    timed: bool = False
    each: bool = False
    cases: bool = True
    own_ids: bool = False
    counts: bool = True
    measured: str = ""
    unmet: str = ""

    @property
    def module(self) -> Any:
        """The module that runs its items, or judges its cases."""
        return load(self.run or f".{self.name}")

    def failed(self, results: Sequence[Any]) -> bool:
        """Return whether a result is not as required."""
        if self.unmet:
            return bool(load(self.unmet)(results))
        return not all(getattr(result, "ok", True) for result in results)


def load(name: str) -> Any:
    """Return a module, or MODULE:NAME of it. The module is named without the product; one that
    begins with a dot is in harness/checks."""
    module, _, member = name.partition(":")
    loaded = import_module(f"{PRODUCT}.{'harness.checks' * module.startswith('.')}{module}")
    return getattr(loaded, member) if member else loaded


@functools.cache
def joined(name: str) -> tuple[Any, ...]:
    """Return the rows of this name of every `rows.py`: of the harness first, then by folder."""
    root = Path(__file__).parent.parent.parent
    paths = [*sorted(root.glob("harness/*/rows.py")), *sorted(root.glob("*/rows.py"))]
    modules = (".".join(path.relative_to(root).with_suffix("").parts) for path in paths)
    return tuple(row for module in modules for row in getattr(load(module), name, ()))


@functools.cache
def records() -> dict[str, RecordRow]:
    """Return every kind of record by its name in a line, in the order in which results are shown:
    those of a single backend come after the others of a check, and no check's come last."""
    of_kinds = (kind.record for kind in sorted(joined("KINDS"), key=lambda kind: kind.each))
    return {row.kind: row for row in (*of_kinds, *joined("RECORDS"))}


def every_gate() -> list[GateRow]:
    """Return every table of rules."""
    return [gate for row in records().values() for gate in row.gate]
