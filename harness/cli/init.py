"""The command `init`: a working adapter with one sampler to fill in."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError, cannot_write

# In a command, where a file of the folder stands.
_SOURCE, _BINARY = "SOURCE", "BINARY"  # words of a command; `placed` puts paths in their place


class Language(StrEnum):
    """Languages with a template; an enumeration, as Typer takes no list of literals."""

    PYTHON = "python"
    TYPESCRIPT = "typescript"
    JAVASCRIPT = "javascript"
    RUST = "rust"
    C = "c"


class Template(NamedTuple):
    """A template of an adapter. source: its file in harness/cli/templates. binary: the compiled
    file, or "". runs: the command of the adapter."""

    source: str
    runs: tuple[str, ...]
    binary: str = ""
    compiled: tuple[tuple[str, ...], ...] = ()


_EXE = ".exe" if sys.platform == "win32" else ""
TEMPLATES = {
    Language.PYTHON: Template("adapter.py", ("python", _SOURCE)),
    Language.JAVASCRIPT: Template("adapter.mjs", ("node", _SOURCE)),
    Language.TYPESCRIPT: Template("adapter.mts", ("node", _SOURCE)),
    Language.RUST: Template(
        "adapter.rs",
        (_BINARY,),
        f"adapter{_EXE}",
        (("rustc", "--edition", "2021", "-O", "-o", _BINARY, _SOURCE),),
    ),
    Language.C: Template(
        "adapter.c", (_BINARY,), f"adapter{_EXE}", (("cc", "-O2", "-o", _BINARY, _SOURCE, "-lm"),)
    ),
}
# For a Node.js that does not strip types.
_TSC = ("npx", "tsc", "--module", "nodenext", "--target", "es2023", "--types", "node", _SOURCE)
COMPILED_TYPESCRIPT = Template(
    "adapter.mts",
    ("node", _BINARY),
    "adapter.mjs",
    (("npm", "install", "typescript", "@types/node"), _TSC),
)


def init(
    language: Annotated[Language, typer.Option("--lang", help="the language of the adapter")],
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]")] = Path(),
) -> None:
    """Write a working adapter with one sampler to fill in, and print how to check it.

    Example:
      sampler-parity init --lang javascript mine

    Exit status: 0, or 2 for bad input.
    """
    from sampler_parity.harness.processes import shell

    template = TEMPLATES[language]
    if language is Language.TYPESCRIPT and not strips_types():
        template = COMPILED_TYPESCRIPT
    write(template, folder)
    print_line(f"wrote    {folder / template.source}: temp is to be filled in")
    for command in template.compiled:
        print_line(f"compile  {shell.join(placed(command, template, folder))}")
    adapter = placed(template.runs, template, folder)
    print_line(f"check    {shell.join(['sampler-parity', 'adapter', 'check', '--', *adapter])}")
    backend = f"mine={shell.join(adapter)}"
    print_line(f"run      {shell.join(['sampler-parity', 'run', 'parity/temp', '-b', backend])}")


def strips_types() -> bool:
    """Return whether Node.js here runs TypeScript; True without Node.js: a newer one will."""
    with suppress(OSError, subprocess.SubprocessError):
        command = ["node", "-p", "process.features.typescript"]
        process = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=10, check=True
        )
        return process.stdout.strip() == "strip"
    return True


def write(template: Template, folder: Path) -> None:
    """Write the template. Raises InputError if its file, or the compiled one, exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in filter(None, (template.binary, template.source)):
            if (folder / name).exists():
                raise InputError(folder / name, "already exists", "choose another folder")
        text = (Path(__file__).parent / "templates" / template.source).read_bytes()
        with (folder / template.source).open("xb") as file:
            file.write(text)
    except OSError as error:
        raise cannot_write(folder / template.source, error) from None


def placed(command: tuple[str, ...], template: Template, folder: Path) -> list[str]:
    """Return a command with the files of a folder, to run from the working directory."""
    compiled = folder / template.binary
    # A shell searches PATH for a command without a separator.
    program = (
        compiled
        if compiled.is_absolute() or compiled.parent != Path()
        else f"{os.curdir}{os.sep}{compiled}"
    )
    files_of = {_SOURCE: str(folder / template.source), _BINARY: str(program)}
    if command[0] == "python" and shutil.which("python") is None:
        files_of["python"] = "python3"
    return [files_of.get(word, word) for word in command]
