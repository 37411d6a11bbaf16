"""The kinds of check: a row each in rows.py, and a file or a folder each.

A kind turns blocks of a suite into items, runs an item (`judge` of a case, else `run` and `died`,
or `measure`), and has a record, unless it is that of a case. Modules are imported when they are
first used, so a start loads only the ones that it needs.
"""

from typing import Literal

from sampler_parity.harness.rows import CheckKind, SuiteTable, joined

Profile = Literal["quick", "full"]

KINDS: dict[str, CheckKind] = {kind.name: kind for kind in joined("KINDS")}
NOUNS = tuple(dict.fromkeys(k.noun for k in sorted(KINDS.values(), key=lambda kind: kind.timed)))
_LEAVES = {kind.record.kind: kind for kind in reversed(KINDS.values())}
OTHERS = [kind for record, kind in _LEAVES.items() if record != "case"]  # one a kind of record


def kind_of_record(record: str) -> CheckKind:
    """Return the first kind with this record. Raises KeyError if no kind of suite item has it."""
    return _LEAVES[record]


def is_judged(record: str) -> bool:
    """Return whether a record of this name is the result of a kind that is not timed."""
    return record in _LEAVES and not _LEAVES[record].timed


def tables() -> dict[str, list[SuiteTable]]:
    """Return the tables of a suite by name, in the order of the kinds, without `[[case]]`."""
    by_name: dict[str, list[SuiteTable]] = {}
    for kind in KINDS.values():
        for table in kind.tables:
            by_name.setdefault(table.name, []).append(table)
    return by_name
