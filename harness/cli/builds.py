"""The commands about what is judged: `backends`, `builds add`, `builds make`, `builds list`,
`adapter check`."""

from typing import Annotated

import typer

from sampler_parity.harness.cli.output import say

builds_app = typer.Typer(no_args_is_help=True, help="Other builds of llama.cpp.")
adapter_app = typer.Typer(no_args_is_help=True, help="For authors of adapters.")


def backends() -> None:
    """List what is configured, what runs here, and why the rest does not.

    Exit status: 0.
    """
    from sampler_parity.harness.backends import registry
    from sampler_parity.harness.backends.engines import ENGINES
    from sampler_parity.harness.llama_cpp.builds import describe

    for name, engine in ENGINES.items():
        info = registry.inspect(name)
        if info.unavailable:
            say(f"{name:<18} unavailable: {info.unavailable}")
        else:
            say(f"{name:<18} {info.version}: {engine.what}")
    for line in describe():
        say(f"llama.cpp@{line}" if not line.startswith(" ") else line)


@builds_app.command("add")
def builds_add(
    what: Annotated[str, typer.Argument(metavar="PACKAGE@VERSION|NAME=FOLDER")],
    release: Annotated[str | None, typer.Option(help="of a folder that does not say it")] = None,
) -> None:
    """Fetch a prebuilt libllama (node-llama-cpp@VERSION with npm, xllamacpp@VERSION with pip), or
    register a folder; use it as -b llama.cpp@NAME.

    Examples:
      sampler-parity builds add node-llama-cpp@3.22.1
      sampler-parity builds add mine=/opt/llama.cpp/build --release v0.5.0

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.llama_cpp.builds import add
    from sampler_parity.harness.llama_cpp.recorded import find

    build = add(what, release)
    say(f"{build.name}  {build.release or 'release unknown'}  sha256 {build.sha256}")
    first = find(build.name.removesuffix(f"-{what.rpartition('@')[2]}"))
    if first is not None and first.name != build.name:
        say(f"{first.name} stays {first.package or first.folder}; this one is {build.name}")


@builds_app.command("make")
def builds_make(
    name: Annotated[str, typer.Argument(metavar="NAME")],
) -> None:
    """Compile llama.cpp's samplers for another platform, by a recipe: libc++, libc++19, wasm,
    arm64-gcc, musl or x64-v3; or portable: patched so that a seed travels (portable-libc++, ...).

    Examples:
      sampler-parity builds make libc++

    Exit status: 0, or 2 for bad input and where a compiler is missing, which is named.
    """
    from sampler_parity.harness.llama_cpp.platforms.make import make

    build = make(name)
    say(f"{build.name}  {build.release}  {build.platform}  sha256 {build.sha256}")


@builds_app.command("list")
def builds_list() -> None:
    """The registered builds: release and devices, or why one cannot be used.

    Exit status: 0.
    """
    from sampler_parity.harness.llama_cpp.builds import describe

    for line in describe():
        say(line)


@adapter_app.command("check")
def adapter_check(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...")],
) -> None:
    """Tell the author of an adapter what it lacks.

    Example:
      sampler-parity adapter check -- node my-adapter.js

    Exit status: 0 it lacks nothing; 1 a check failed; 2 bad input.
    """
    from sampler_parity.harness.parity.adapter_check import check_adapter

    failed = 0
    for check in check_adapter(command):
        state = {True: "ok", False: "FAILED", None: "not claimed"}[check.passed]
        failed += check.passed is False
        say(f"{state:<12} {check.name}" + (f": {check.detail}" if check.detail else ""))
    if failed:
        raise typer.Exit(1)
