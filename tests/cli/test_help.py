"""The help: commands by panel, with examples that are commands, and with exit statuses."""

import re
import shlex

import pytest

from sampler_parity.harness.cli.commands import COMMANDS as ROWS
from tests.support.command_line import APP, COMMANDS, check_command, cli

PANELS = ["Check mine", "Measure", "Gate", "For maintainers"]

EXAMPLES = [
    line.strip()
    for text in [APP.epilog, *(command.help for command in COMMANDS.values())]
    for line in text.splitlines()
    if line.strip().startswith("sampler-parity ")
]


def test_every_command_is_in_a_panel() -> None:
    assert {command.rich_help_panel for command in APP.commands.values()} == {*PANELS}


@pytest.mark.parametrize("name", ROWS)
def test_the_line_of_a_command_is_the_beginning_of_its_help(name: str) -> None:
    text = re.sub(r"\s+", " ", APP.commands[name].help)
    about = ROWS[name].about
    assert text.startswith(about.rstrip(".?"))
    assert re.match(r"[.?,:; ]", text[len(about.rstrip(".?")) :])  # a whole word ends there


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_help_lists_every_command_below_its_panel(arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.returncode, done.stderr) == (0 if arguments else 2, "")
    shown: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            shown[line[:-1]] = []
        elif re.match(r"  \w", line) and shown:
            [*shown.values()][-1].append(line.split()[0])
    for panel in PANELS:
        assert shown[panel] == [name for name, row in ROWS.items() if row.panel == panel]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_its_exit_statuses(name: str) -> None:
    assert re.search(r"^Exit status: 0", COMMANDS[name].help, re.MULTILINE)


def test_every_command_for_users_has_an_example() -> None:
    shown = {" ".join(line.split()[1:3]) for line in EXAMPLES}
    lacking = [
        name
        for name in COMMANDS
        if APP.commands[name.split()[0]].rich_help_panel != "For maintainers"
        and not any(f"{line} ".startswith(f"{name} ") for line in shown)
    ]
    assert lacking == ["backends"]  # it takes nothing


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_is_a_command(line: str) -> None:
    check_command(shlex.split(line)[1:])


@pytest.mark.parametrize("columns", ["60", "100"])
def test_help_fits_its_terminal(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for arguments in (["-h"], ["run", "--help"], ["gate", "-h"]):
        done = cli(*arguments)
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= int(columns)


def test_version_is_that_of_the_package() -> None:
    assert re.fullmatch(r"sampler-parity \d+\.\d+\.\d+\n", cli("--version").stdout)
