"""The commands `builds add`, `builds make`, `builds list` and `builds newest`."""

from typing import Annotated

import typer

from sampler_parity.harness.cli.output import print_line

builds_app = typer.Typer(no_args_is_help=True, help="Other builds of llama.cpp.")


@builds_app.command("add")
def builds_add(
    what: Annotated[str, typer.Argument(metavar="PACKAGE@VERSION|NAME=FOLDER")],
    release: Annotated[str | None, typer.Option(help="if the folder does not state it")] = None,
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
    print_line(f"{build.name}  {build.release or 'release unknown'}  sha256 {build.sha256}")
    first = find(build.name.removesuffix(f"-{what.rpartition('@')[2]}"))
    if first is not None and first.name != build.name:
        print_line(f"{first.name} stays {first.package or first.folder}; this one is {build.name}")


@builds_app.command("make")
def builds_make(names: Annotated[list[str], typer.Argument(metavar="NAME...")]) -> None:
    """Compile llama.cpp's samplers for other platforms, by recipes: libc++, libc++19, wasm,
    arm64-gcc, musl or x64-v3; or portable: patched so that a seed travels (portable-libc++, ...).

    Examples:
      sampler-parity builds make libc++ wasm

    Exit status: 0, or 2 for bad input. Compilers and emulators that are missing are named first.
    """
    from sampler_parity.harness.llama_cpp.platforms.make import check, make

    check(names)
    for build in map(make, names):
        print_line(f"{build.name}  {build.release}  {build.platform}  sha256 {build.sha256}")


@builds_app.command("list")
def builds_list() -> None:
    """List the registered builds: release and devices, or why one cannot be used.

    Exit status: 0.
    """
    from sampler_parity.harness.llama_cpp.builds import describe

    for line in describe():
        print_line(line)


@builds_app.command("newest")
def builds_newest() -> None:
    """Ask npm and pip for packages with a newer llama.cpp than the modelled ones, and print the
    command that adds each. `make follow` takes the newest.

    Exit status: 0, or 2 if a registry does not answer.
    """
    from sampler_parity.harness.llama_cpp.published import offers
    from sampler_parity.reference.chronology import SEEN

    print_line(f"{'modelled':<31} up to {SEEN}")
    for offer in offers():
        take = (
            f"sampler-parity builds add {offer.package}@{offer.version}" if offer.newer else "known"
        )
        print_line(
            f"{offer.package:<16} {offer.version:<14} {offer.release or 'unknown':<10} {take}"
        )
