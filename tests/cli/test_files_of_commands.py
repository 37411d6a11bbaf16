"""A command is defined in the file of its package that has its name; so is a group of commands."""

from collections.abc import Iterator

import typer

from sampler_parity.harness.cli import lint
from sampler_parity.harness.cli.commands import COMMANDS, registered

PACKAGE = "sampler_parity.harness.cli"
MAINTENANCE = "sampler_parity.maintenance.cli"


def elsewhere(commands: typer.Typer) -> Iterator[str]:
    """Commands that another file defines, one line each."""
    for command in commands.registered_commands:
        yield from _unlike(command.name, command)
    for group in commands.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            yield from _unlike(group.name, command)


def _unlike(name: str | None, command: typer.models.CommandInfo) -> Iterator[str]:
    assert name is not None
    assert command.callback is not None
    package = f"sampler_parity.{COMMANDS[name].package}"
    file, wanted = command.callback.__module__, f"{package}.{name.replace('-', '_')}"
    if file != wanted:
        yield f"{command.callback.__name__} is defined in {file}, not in {wanted}"


def test_every_command_is_defined_in_the_file_of_its_name() -> None:
    assert [*elsewhere(registered(*COMMANDS))] == []


def test_planted_command_of_another_file_is_named() -> None:
    planted, group = typer.Typer(), typer.Typer()
    planted.command("lint")(lint.lint)
    planted.command("timing-selfcheck")(lint.lint)
    group.command("add")(lint.lint)
    planted.add_typer(group, name="engines")
    assert [*elsewhere(planted)] == [
        f"lint is defined in {PACKAGE}.lint, not in {MAINTENANCE}.timing_selfcheck",
        f"lint is defined in {PACKAGE}.lint, not in {PACKAGE}.engines",
    ]
