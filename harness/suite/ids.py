"""Ids of suites and cases as they are printed, and patterns of ids: one rule for `--case`, `list`
and the gate.

A pattern is a shell pattern (`*` is anything, `?` one character); an id always matches itself. Some
results have longer names than the check that made them, and reports print both.

The suites of the package are GROUP/NAME.toml in suites/ or engines/*/suites/. No file is read, so
completion in a shell is fast."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

from sampler_parity.harness.engines.engine_file import engines_folder


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


def suites_folder() -> Path:
    """Return the folder `suites/` of the checkout or of the installed wheel."""
    return Path(str(files("sampler_parity.suites")))


def suite_id(path: Path) -> str:
    """Return the id of a suite: "parity/top_p" for suites/parity/top_p.toml."""
    return f"{path.resolve().parent.name}/{path.stem}"


def shipped() -> dict[str, Path]:
    """Return the file of each suite of the package and of the engines, sorted by name."""
    paths = [*suites_folder().glob("*/*.toml"), *engines_folder().glob("*/suites/*/*.toml")]
    return dict(sorted((f"{path.parent.name}/{path.stem}", path) for path in paths))


def is_shipped(path: Path) -> bool:
    """Return whether it is a suite of the package, which is found by its name from any folder."""
    there, ours = path.resolve(), suites_folder().resolve()
    folder = there.parent.parent
    engine = folder.name == "suites" and folder.parent.parent == engines_folder().resolve()
    return there.suffix == ".toml" and there.is_file() and (folder == ours or engine)


def suites_of_cases(patterns: list[str]) -> list[str]:
    """Return the suites that the patterns of ids name; none if one pattern names no suite."""
    matches = [
        suites_of(pattern) if _first(pattern) and not has_jokers(_first(pattern)) else []
        for pattern in patterns
    ]
    if not all(matches):
        return []
    return list(dict.fromkeys(suite for suites in matches for suite in suites))


def suites_of(pattern: str) -> list[str]:
    """Return the suites whose cases a pattern of ids can match. An id begins with the name of its
    suite's file, that of a timed chain with `timing`; only timed chains have ids of one word."""
    first = _first(pattern)
    if not first:
        anywhere = has_jokers(pattern)
        return [suite for suite in shipped() if anywhere or suite.startswith("timing/")]
    return [
        suite
        for suite, path in shipped().items()
        if fits(path.stem, first) or (suite.startswith("timing/") and fits("timing", first))
    ]


def _first(pattern: str) -> str:
    first, slash, _ = pattern.partition("/")
    return first if slash else ""
