"""Models at the edges, of what is read and written: no unknown key, no change after reading.

One configuration for all of them, their JSON Schema as it is committed, and the first thing that is
wrong with what was read, as one line for a user. A model whose fields default to lists names
BaseModel itself and takes STRICT: ruff knows a pydantic model by that (RUF012).
"""

import errno
import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.foreign import limits

# What validates is built when it is first needed: a process needs few of the models.
STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Strict(BaseModel):
    """Refuses keys that it does not know, and cannot be changed."""

    model_config = STRICT


def schema_text(model: type[BaseModel]) -> str:
    """The text of a committed schema, of what the model writes."""
    schema = model.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


Seed = Annotated[int, Field(ge=0, le=limits.WHOLE)]
Steps = Annotated[int, Field(ge=1, le=limits.STEPS)]
Random = Annotated[int, Field(ge=0, le=limits.RANDOM)]
Count = Annotated[int, Field(ge=1, le=limits.RANDOM)]
Token = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]  # llama_token is an int32
Tokens = Annotated[list[Token], Field(max_length=limits.TOKENS)]
Size = Annotated[int, Field(ge=1, le=limits.VOCAB)]
Id = Annotated[str, Field(max_length=limits.ID)]

ABOUT_KEYS = {"extra_forbidden": "remove it or correct its name", "missing": "add it"}
_MENDS = ABOUT_KEYS | {"string_too_long": "shorten it"}


class Mistake(NamedTuple):
    """What to tell of a failed validation: pydantic's type of it, where, what, and the mend."""

    type: str
    location: tuple[int | str, ...]
    reason: str
    mend: str


def mistake(error: ValidationError) -> Mistake:
    """The mistake to show. Of a union every member complains; what is not about keys says most."""
    errors = error.errors(include_url=False)
    shown = next((e for e in errors if e["type"] not in ABOUT_KEYS), errors[0])
    reason = shown["msg"].removeprefix("Value error, ")
    return Mistake(shown["type"], shown["loc"], reason, _MENDS.get(shown["type"], ""))


def first_mistake(error: ValidationError) -> str:
    """Place and reason in one line: "chain.0.k: Field required"."""
    _, location, reason, _ = mistake(error)
    return f"{'.'.join(str(part) for part in location)}: {reason}"


_DOTTED = re.compile(rb"""(?:["']?[\w-]{1,64}["']?[ \t]*\.[ \t]*){%d}""" % limits.NESTING)


def read_file(path: Path, most: int) -> bytes:
    """The content of a file. Raises InputError for one that is none, or has more than most bytes.

    A pipe or a device could keep us waiting for ever, or have no end.
    """
    try:
        with open_file(path) as file:
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    if len(content) > most:
        problem = f"has more than {most / limits.MIB:g} MiB"
        raise InputError(path, problem, "see docs/limits.md")
    return content


def open_file(path: Path) -> BinaryIO:
    """A regular file, to be read. Raises FileNotFoundError, and InputError for all else."""
    try:
        return open(path, "rb", opener=_opened)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(path, f"cannot be read: {reason}") from None


def _opened(path: str, flags: int) -> int:
    """A descriptor of a regular file alone."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no file, but a folder, a pipe or a device")
    return descriptor


def toml_of(path: Path, content: bytes) -> dict[str, Any]:
    """The tables of a TOML file. Raises InputError."""
    if _DOTTED.search(content):  # tomllib takes the square of their number
        raise InputError(path, f"not TOML: a key of over {limits.NESTING} parts", "shorten it")
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        problem = "not TOML that can be read: too many lists and tables inside one another"
        raise InputError(path, problem, "flatten it") from None
    except ValueError as error:  # its syntax, what is not UTF-8, numbers of 4,300 digits
        raise InputError(path, f"not TOML: {error}", "mend the syntax there") from None
