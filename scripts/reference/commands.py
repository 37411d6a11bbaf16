"""Describe every command of the command line from the functions in harness/cli."""

import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from typer.models import ArgumentInfo, ParameterInfo
from typer.utils import get_params_from_function

from sampler_parity.harness.cli.commands import COMMANDS, registered
from scripts.reference.tables import alternatives, code, table
from scripts.reference.type_names import figure, type_name

HEAD = ("option", "value", "default", "meaning")


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
    panels: dict[str, list[str]] = {}
    app = registered(*COMMANDS)
    every: list[Any] = [*app.registered_commands, *app.registered_groups]
    for one in every:
        panel = str(one.rich_help_panel)
        panels.setdefault(panel, [f"## {panel}"]).extend(_sections(one, "sampler-parity"))
    return "\n\n".join(text for sections in panels.values() for text in sections)


def _sections(one: Any, prefix: str) -> Iterator[str]:
    """Yield the section of a command, or those of the commands of a group."""
    if (group := getattr(one, "typer_instance", None)) is not None:
        for command in group.registered_commands:
            yield from _sections(command, f"{prefix} {one.name}")
    else:
        name = one.name or one.callback.__name__.replace("_", "-")
        yield _section(f"{prefix} {name}", one.callback)


def _section(name: str, callback: Callable[..., Any]) -> str:
    found = [*_parameters(callback)]
    arguments = [one.shown.strip("`") for one in found if one.is_argument]
    options = ["[OPTIONS]"] if len(arguments) < len(found) else []
    title = f"### {name.removeprefix('sampler-parity ')}"
    rows = [[one.shown, _value(one), _default(one), one.info.help or ""] for one in found]
    tables = [table(HEAD, rows)] if rows else []
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
    """Yield the paragraphs of a help text; examples become a block of code."""
    for paragraph in filter(None, text.split("\n\n")):
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
    ends = ((one.info.min, "at least"), (one.info.max, "at most"))
    limits = [f"{word} {figure(value)}" for value, word in ends if value is not None]
    return ", ".join([_kind(one.kind), *limits, *(["several"] if one.several else [])])


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return alternatives([code(str(value)) for value in get_args(kind)])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return alternatives([code(str(value.value)) for value in kind])
    return "path" if kind is Path else type_name(kind)


def _default(one: CommandParameter) -> str:
    default = one.info.default
    if default is ... or default is inspect.Parameter.empty:
        return "required"
    return code(str(default)) if default not in (None, "") and one.kind is not bool else ""
