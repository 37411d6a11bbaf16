"""The command `list`: suites, cases, samplers, backends, by names that can be pasted."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Literal

import typer

from sampler_parity.harness.cli import complete
from sampler_parity.harness.cli.output import print_lines
from sampler_parity.harness.errors import InputError

Kind = Literal["suites", "cases", "samplers", "backends"]
_AT_ONCE = 1000  # lines: some are printed before all are known
Lines = Iterator[tuple[str, str]]  # a name and its description


def list_command(
    kind: Annotated[
        Kind,
        typer.Argument(metavar="KIND", help="suites, cases, samplers or backends"),
    ],
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN", help="patterns of names; for cases also suites"),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="describe each")] = False,
    cache: Annotated[
        bool,
        typer.Option(help="read ids of cases that this code listed before", show_default=False),
    ] = True,
) -> None:
    """List suites, cases, samplers or backends: names that other commands take.

    Examples:
      sampler-parity list suites -v
      sampler-parity list cases 'top_p/*tie*'
      sampler-parity list cases parity/min_p
      sampler-parity list samplers '*_p'

    Exit status: 0 something is listed; 2 nothing is, or bad input.
    """
    wanted_names = patterns or []
    listed = False
    lines = cases(wanted_names, verbose, cache) if kind == "cases" else KINDS[kind](wanted_names)
    while chunk := [*itertools.islice(lines, _AT_ONCE)]:
        listed = True
        print_lines(f"{name:<24}  {what}".rstrip() if verbose else name for name, what in chunk)
    if not listed:
        raise InputError(f"{kind} {' '.join(wanted_names)}", "no match", _meant(kind, wanted_names))


def suites(patterns: list[str]) -> Lines:
    """Yield the suites of the package. A folder's name stands for its suites."""
    from sampler_parity.harness.files import read_file, toml_of
    from sampler_parity.harness.sanitize import limits
    from sampler_parity.harness.suite.ids import shipped

    for name, path in shipped().items():
        if _fits(name, patterns) or name.partition("/")[0] in patterns:
            yield name, str(toml_of(path, read_file(path, limits.TOML)).get("name", ""))


def cases(patterns: list[str], about: bool = True, cache: bool = False) -> Lines:
    """Yield all names that `--case` takes. Suites among the patterns limit the search; else the
    first part of a pattern does, which is the name of a suite's file. about: with descriptions."""
    from sampler_parity.harness.inputs.cache import of_this_code
    from sampler_parity.harness.suite.expansion_cache import Expansions
    from sampler_parity.harness.suite.ids import id_fits, shipped, suites_of

    files = shipped()
    folders = {name.partition("/")[0] for name in files}
    where = [p for p in patterns if p in files or p in folders or p.endswith(".toml")]
    case_patterns = [p for p in patterns if p not in where] or ["*"]
    expansions = Expansions(of_this_code()) if cache else None
    for suite in where or [*dict.fromkeys(s for p in case_patterns for s in suites_of(p))]:
        if expansions is None or suite.endswith(".toml"):
            names = _names(suite)
        else:
            paths = [files[name] for name in files if suite in (name, name.partition("/")[0])]
            names = expansions.names(suite, paths, about, partial(_names, suite))
        if "*" in case_patterns:
            yield from names
        else:
            fitting = [pattern.partition("@")[0] for pattern in case_patterns]
            yield from (
                row for row in names if any(id_fits(row[0], pattern) for pattern in fitting)
            )


def _names(suite: str) -> list[tuple[str, str]]:
    from sampler_parity.harness.suite.items import files_of, items_of

    files, _ = files_of([suite])
    items = items_of(files, "full", 0, ())
    about = {item.id: item.check.description for item in items if item.kind.noun == "cases"}
    return [(item.id, about.get(item.id, "")) for item in items]


def samplers(patterns: list[str]) -> Lines:
    """Yield the samplers of the reference, with their parameters."""
    import inspect

    from sampler_parity.reference.registry import ROWS

    for name, row in ROWS.items():
        if _fits(name, patterns):
            yield name, ", ".join(inspect.signature(row.make).parameters)


def backends(patterns: list[str]) -> Lines:
    """Yield engines and builds; the command `backends` shows which run here."""
    from sampler_parity.harness.backends.engines import ENGINES

    for name in complete.backend_names():
        if _fits(name, patterns):
            yield name, ENGINES[name].what if name in ENGINES else "a registered build"


KINDS: dict[str, Callable[[list[str]], Lines]] = {
    "suites": suites,
    "cases": cases,
    "samplers": samplers,
    "backends": backends,
}


def _fits(name: str, patterns: list[str]) -> bool:
    from sampler_parity.harness.suite.ids import fits

    return not patterns or any(fits(name, pattern) for pattern in patterns)


def _meant(kind: str, patterns: list[str]) -> str:
    """Suggest a name for a pattern that matches nothing."""
    from sampler_parity.harness.sanitize.near import did_you_mean

    if kind == "cases":
        from sampler_parity.harness.suite.file import meant

        hints = [meant(pattern.partition("/")[0]) for pattern in patterns]
    else:
        names = [name for name, _ in KINDS[kind]([])]
        hints = [did_you_mean(pattern, names) for pattern in patterns]
    return next(filter(None, hints), f"`sampler-parity list {kind}` lists all")
