"""Ids as they are printed, and patterns of them: one rule for `--case`, `list` and the gate.

A pattern is a shell's (`*` is anything, `?` one character); an id fits itself, whatever it holds.
Results have longer names than what was asked in two places, and reports print both.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern, or the name itself, is about this name."""
    return pattern == "*" or name == pattern or fnmatchcase(name, pattern)


def has_jokers(pattern: str) -> bool:
    return bool(set("*?[") & {*pattern})


def names_of(id: str) -> tuple[str, ...]:
    """What an id may be called: a timed chain also without `timing/`, as tables of times have it,
    a skip ratio also without its backend."""
    short = id.removeprefix("timing/")
    workload = id.rpartition("@")[0]
    return tuple(dict.fromkeys(name for name in (id, short, workload) if name))


def id_fits(id: str, pattern: str) -> bool:
    """Whether a pattern is about what has this id."""
    return any(fits(name, pattern) for name in names_of(id))


def may_be_of(stem: str, patterns: Sequence[str]) -> bool:
    """Whether a case of this suite's file may be meant: its ids begin with the file's name, so that
    `--case top_p/x` need not expand the others. No pattern: all are meant."""
    firsts = [pattern.partition("/") for pattern in patterns]
    return not firsts or any(
        first == stem or not slash or has_jokers(first) for first, slash, _ in firsts
    )
