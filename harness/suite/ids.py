"""Ids as they are printed, and patterns of ids: one rule for `--case`, `list` and the gate.

A pattern is a shell pattern (`*` is anything, `?` one character); an id always matches itself. Some
results have longer names than the check that made them, and reports print both.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def fits(name: str, pattern: str) -> bool:
    """Return whether a pattern matches this name, or is equal to it."""
    return pattern == "*" or name == pattern or fnmatchcase(name, pattern)


def has_jokers(pattern: str) -> bool:
    return bool(set("*?[") & {*pattern})


def names_of(id: str) -> tuple[str, ...]:
    """Return the names of an id: a timed chain also without `timing/`, as in tables of times, and a
    skip ratio also without its backend."""
    short = id.removeprefix("timing/")
    workload = id.rpartition("@")[0]
    return tuple(dict.fromkeys(name for name in (id, short, workload) if name))


def id_fits(id: str, pattern: str) -> bool:
    """Return whether a pattern matches one of the names of this id."""
    return any(fits(name, pattern) for name in names_of(id))


def may_be_of(stem: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern can match a case of this suite's file.

    Ids begin with the file's name, so `--case top_p/x` need not expand the other files. Without a
    pattern every file matches.
    """
    firsts = [pattern.partition("/") for pattern in patterns]
    return not firsts or any(
        first == stem or not slash or has_jokers(first) for first, slash, _ in firsts
    )
