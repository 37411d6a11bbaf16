"""The commands about engines that have environments of their own: `engines add`, `list`, ..."""

from typing import TYPE_CHECKING, Annotated

import typer

from sampler_parity.harness.cli.output import error, print_line
from sampler_parity.harness.errors import InputError

if TYPE_CHECKING:
    from sampler_parity.harness.backends.environments import Record

engines_app = typer.Typer(no_args_is_help=True, help="Engines of others, each with its packages.")
_What = Annotated[list[str], typer.Argument(metavar="NAME[==VERSION]...")]


@engines_app.command("add")
def engines_add(what: _What) -> None:
    """Install engines, each into an environment of its own in the user's cache folder; use them as
    -b NAME, or -b NAME@VERSION. A version that is not pinned is recorded as it was installed.

    Examples:
      sampler-parity engines add rwkv
      sampler-parity engines add rwkv==0.8.31

    Exit status: 0; 2 one of them could not be installed: the others are.
    """
    from sampler_parity.harness.backends.installing import add

    failed = False
    for name in what:
        try:
            record, is_new = add(name, print_line)
        except InputError as refused:
            error(str(refused))
            failed = True
            continue
        how = f"in {record.seconds:.0f} s" if is_new else "already installed"
        print_line(f"{record.name:<18} {record.version:<12} {_size(record)}, {how}")
    if failed:
        raise typer.Exit(2)


@engines_app.command("list")
def engines_list() -> None:
    """List the engines with an environment: version, device and size, or why one cannot be used.

    Example:
      sampler-parity engines list

    Exit status: 0.
    """
    from sampler_parity.harness.backends.environments import all_environments, missing, records

    installed = [record for record in records() if record.name in all_environments()]
    for name, row in all_environments().items():
        why = missing(name)
        if why:
            print_line(f"{name:<18} {row.version:<12} not installed: {why}")
        for record in filter(lambda record: record.name == name, installed):
            if record.version != row.version or not why:
                print_line(f"{name:<18} {record.version:<12} {_device(name):<8} {_size(record)}")


@engines_app.command("remove")
def engines_remove(what: _What) -> None:
    """Remove the environments of engines: of NAME every version.

    Example:
      sampler-parity engines remove rwkv==0.8.31

    Exit status: 0; 2 one of them is not there.
    """
    from sampler_parity.harness.backends.installing import remove

    for name in what:
        for folder in remove(name):
            print_line(f"removed {folder.name}")


@engines_app.command("exec", context_settings={"ignore_unknown_options": True})
def engines_exec(
    name: Annotated[str, typer.Argument(metavar="NAME[==VERSION]")],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...")],
) -> None:
    """Run a command in the environment of an engine: `python` is its own, and a script of Node.js
    finds its packages.

    Example:
      sampler-parity engines exec rwkv -- python -c "import rwkv"

    Exit status: 0 to 255, that of the command; 2 the environment is not there.
    """
    import os
    import subprocess

    from sampler_parity.harness.backends.environments import inside, missing
    from sampler_parity.harness.backends.installing import parsed

    row, version = parsed(name)
    if why := missing(row.name, version):
        raise InputError(f"engine {name}", "is not installed", why)
    words, environment = inside(row, version, command, dict(os.environ))
    raise typer.Exit(subprocess.run(words, env=environment).returncode)


def _size(record: "Record") -> str:
    return f"{record.size / 2**20:,.0f} MiB"


def _device(name: str) -> str:
    """Return the devices of the engines of an environment."""
    from sampler_parity.harness.backends.engines import ENGINES

    devices = {row.device or "cpu" for row in ENGINES.values() if row.environment == name}
    return ", ".join(sorted(devices)) or "-"
