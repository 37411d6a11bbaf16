"""Read a table of the project that stands in TOML next to the module that needs it."""

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import first_mistake

T = TypeVar("T")


def read_table(path: Path, kind: type[T]) -> T:
    """Return the whole file as a model, or as a mapping of models. Raises InputError."""
    try:
        return TypeAdapter(kind).validate_python(toml_of(path, read_file(path, limits.TOML)))
    except ValidationError as error:
        raise InputError(path, first_mistake(error)) from None
