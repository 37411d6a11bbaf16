"""The command line, in this process or in one of its own."""

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import typer

from sampler_parity.harness.cli.app import DEFECT, app, main
from sampler_parity.harness.processes import phase
from sampler_parity.harness.suite.file import find_suites

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-c", "from sampler_parity.harness.cli.app import main; main()"]

# As the root has them: a command keeps those of its first context.
HELP = (app.info.context_settings or {})["help_option_names"]


APP: Any = typer.main.get_command(app)


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command below a group."""
    for word, command in group.commands.items():
        full = f"{name} {word}".strip()
        yield from commands(command, full) if hasattr(command, "commands") else [(full, command)]


COMMANDS = dict(commands(APP))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Done(NamedTuple):
    """Status and output of a finished command."""

    returncode: int
    stdout: str
    stderr: str


def cli(*arguments: str | Path, folder: Path = ROOT, after_s: float = 3600.0) -> Done:
    """Run `sampler-parity` in the root of the repository, in this process. after_s: seconds without
    output, after which it names its phase."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["sampler-parity", *map(str, arguments)]),
        mock.patch.object(phase, "AFTER_S", after_s),
    ):
        try:
            main()
        except SystemExit as exit:
            status = exit.code or 0
    assert isinstance(status, int), status
    assert DEFECT not in err.getvalue(), err.getvalue()  # main must not hide a failure of ours
    return Done(status, out.getvalue(), err.getvalue())


def check_command(arguments: list[str]) -> None:
    """Parse as the CLI would, without running. Raises UsageError, or InputError for a suite."""
    group: Any = typer.main.get_command(app)
    while hasattr(group, "commands"):
        name, *arguments = arguments
        if name not in group.commands:
            raise ValueError(f"no command {name}")
        group = group.commands[name]
    with group.make_context("sampler-parity", arguments, help_option_names=HELP) as context:
        if group.name == "run":
            find_suites(context.params["suites"] or [])


def problems(stderr: str) -> list[str]:
    """Return the lines of a command's stderr without those that name the present work."""
    return [line for line in stderr.splitlines() if not line.startswith("working  ")]


def refused(done: Done) -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]
