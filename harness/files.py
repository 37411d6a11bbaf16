"""Read untrusted files with limits: only regular files, of a largest size; TOML not too deep. Write
files without waiting."""

import errno
import hashlib
import os
import re
import stat
import tarfile
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, TypeVar

from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.sanitize import limits

T = TypeVar("T")
_DOTTED = re.compile(rb"""(?:["']?[\w-]{1,64}["']?[ \t]*\.[ \t]*){%d}""" % limits.NESTING)


def read_file(path: Path, most: int) -> bytes:
    """Return the content of a file. Raises InputError if it is not a regular file, or has more than
    `most` bytes.

    A pipe or a device could keep us waiting for ever, or have no end.
    """
    try:
        with open_file(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    if len(content) > most:
        problem = f"has more than {most / limits.MIB:g} MiB"
        raise InputError(path, problem, "see docs/reference/limits.md")
    return content


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises FileNotFoundError, and InputError for all else."""
    try:
        return open(path, "rb", opener=_opened)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(path, f"cannot be read: {reason}") from None


def _opened(path: str, flags: int) -> int:
    """Open a regular file; return its descriptor."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file, but a folder, a pipe or a device")
    return descriptor


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str, mode: Literal["w", "a"] = "w") -> None:
    """Write a text. Raises InputError if it cannot; does not wait for a pipe without a reader."""
    try:
        with open(path, mode, encoding="utf-8", opener=_unwaiting) as file:
            file.write(text)
    except OSError as error:
        raise cannot_write(path, error) from None


def _unwaiting(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return descriptor


def toml_of(path: Path, content: bytes) -> dict[str, Any]:
    """Parse the tables of a TOML file. Raises InputError."""
    if _DOTTED.search(content):  # tomllib takes the square of their number
        raise InputError(path, f"not TOML: a key of over {limits.NESTING} parts", "shorten it")
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        problem = "not TOML that can be read: too many lists and tables inside one another"
        raise InputError(path, problem, "flatten it") from None
    except ValueError as error:  # its syntax, what is not UTF-8, numbers of 4,300 digits
        raise InputError(path, f"not TOML: {error}", "correct the syntax there") from None


def read_table(path: Path, kind: type[T]) -> T:
    """Read a whole TOML file as a model. Raises InputError."""
    from pydantic import TypeAdapter, ValidationError  # the command line starts without it

    from sampler_parity.harness.strict import first_mistake

    try:
        return TypeAdapter(kind).validate_python(toml_of(path, read_file(path, limits.TOML)))
    except ValidationError as error:
        raise InputError(path, first_mistake(error)) from None


def extract(tar: tarfile.TarFile, folder: Path, members: list[tarfile.TarInfo]) -> None:
    """Unpack members of an archive. Python before 3.11.4 has no filter for them; there links and
    names outside the folder are refused. Raises InputError."""
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, members, filter="data")
        return
    top = folder.resolve()
    for member in members:
        inside = (top / member.name).resolve().is_relative_to(top)
        if not inside or not (member.isfile() or member.isdir()):
            raise InputError(member.name, "is not a file inside the archive's folder")
    tar.extractall(folder, members)
