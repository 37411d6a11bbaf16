"""Describe every command of the command line from the functions in harness/cli.

An option that several commands have with the same value and meaning has one row, in a table of
its own.
"""

import inspect
import textwrap
import types
from collections import Counter
from collections.abc import Callable, Container, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from typer.models import ArgumentInfo, ParameterInfo
from typer.utils import get_params_from_function

from sampler_parity.harness.cli.commands import COMMANDS, registered
from scripts.reference.tables import also_line, alternatives, code, described, table
from scripts.reference.type_names import between, type_name

HEAD = ("option", "value", "meaning")
Row = tuple[str, str, str]


class CommandParameter(NamedTuple):
    """A parameter of a command. info: its typer.Option or typer.Argument."""

    name: str
    kind: Any
    several: bool
    info: ParameterInfo

    @property
    def is_argument(self) -> bool:
        return isinstance(self.info, ArgumentInfo)

    @property
    def shown(self) -> str:
        """The argument as a usage line has it, or the options."""
        if self.is_argument:
            return code(self._argument())
        word = self.name.replace("_", "-").strip("-")
        switch = [f"--{word}", *([f"--no-{word}"] if self.kind is bool else [])]
        names = [one for text in self.info.param_decls or switch for one in text.split("/")]
        return ", ".join(map(code, names))

    def _argument(self) -> str:
        name = self.info.metavar or f"{self.name.upper()}{'...' if self.several else ''}"
        return name if self.info.default is ... or name.startswith("[") else f"[{name}]"


def commands() -> str:
    """Return the sections of all commands, one panel of `sampler-parity --help` after the other."""
    found: list[tuple[str, str, Callable[..., Any]]] = []
    app = registered(*COMMANDS)
    every: list[Any] = [*app.registered_commands, *app.registered_groups]
    for one in every:
        found += [(str(one.rich_help_panel), *named) for named in _named(one, "sampler-parity")]
    counts = Counter(row for _, _, callback in found for row in _rows(callback))
    repeated = [row for row, count in counts.most_common() if count > 1]
    common = {row[0]: row for row in reversed(repeated)}.values()  # the most frequent of each name
    panels: dict[str, list[str]] = {}
    for panel, name, callback in found:
        panels.setdefault(panel, [f"## {panel}"]).append(_section(name, callback, common))
    sections = [f"## Common options\n\n{table(HEAD, sorted(common))}"]
    return "\n\n".join([*sections, *(text for texts in panels.values() for text in texts)])


def _named(one: Any, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the name and function of a command, or of those of a group."""
    if (group := getattr(one, "typer_instance", None)) is not None:
        for command in group.registered_commands:
            yield from _named(command, f"{prefix} {one.name}")
    else:
        name = one.name or one.callback.__name__.replace("_", "-")
        yield f"{prefix} {name}", one.callback


def _rows(callback: Callable[..., Any]) -> Iterator[Row]:
    """Yield the rows of the options and of the arguments that have a help text or a default."""
    for one in _parameters(callback):
        meaning = one.info.help or ""
        if meaning or _default(one) or not one.is_argument:
            yield one.shown, ", ".join(filter(None, [_value(one), _default(one)])), meaning


def _section(name: str, callback: Callable[..., Any], common: Container[Row]) -> str:
    found = [*_parameters(callback)]
    arguments = [one.shown.strip("`") for one in found if one.is_argument]
    options = ["[OPTIONS]"] if len(arguments) < len(found) else []
    title = f"### {name.removeprefix('sampler-parity ')}"
    own = [row for row in _rows(callback) if row not in common]
    also = ", ".join(row[0] for row in _rows(callback) if row in common)
    tables = [described(HEAD, own)] if own else []
    if also:
        tables.append(also_line(own, also, "options"))
    usage = f"```text\n{' '.join([name, *options, *arguments])}\n```"
    return "\n\n".join([title, usage, *_help(inspect.getdoc(callback) or ""), *tables])


def _parameters(callback: Callable[..., Any]) -> Iterator[CommandParameter]:
    for name, one in get_params_from_function(callback).items():
        kind = _without_none(one.annotation)
        several = get_origin(kind) is list
        yield CommandParameter(name, get_args(kind)[0] if several else kind, several, one.default)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    return kind


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text, apart from the usual exit status; examples become a
    block of code."""
    for paragraph in filter(None, text.split("\n\n")):
        if paragraph in ("Exit status: 0.", "Exit status: 0, or 2 for bad input."):
            continue
        first, *rest = (line.strip() for line in paragraph.splitlines())
        if first.startswith("Example"):
            examples = [first.removeprefix("Example: "), *rest] if "Example: " in first else rest
            yield "\n".join(["```text", *examples, "```"])
        else:
            yield textwrap.fill(" ".join([first, *rest]), 118, break_on_hyphens=False)


def _value(one: CommandParameter) -> str:
    """Return the kind of value that an option takes; nothing for a flag."""
    if one.kind is bool:
        return ""
    limits = between(ge=one.info.min, le=one.info.max)
    return ", ".join([_kind(one.kind), *limits, *(["several"] if one.several else [])])


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return alternatives([code(str(value)) for value in get_args(kind)])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return alternatives([code(str(value.value)) for value in kind])
    return "path" if kind is Path else type_name(kind)


def _default(one: CommandParameter) -> str:
    """Return "default `60`", or "required" for an option; the usage line has that of arguments."""
    default = one.info.default
    if default is ... or default is inspect.Parameter.empty:
        return "" if one.is_argument else "required"
    return f"default `{default}`" if default not in (None, "") and one.kind is not bool else ""
