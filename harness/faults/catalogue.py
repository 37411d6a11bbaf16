"""Faults that are written as text: one TOML file per sampler, chain.toml, batch.toml, and those of
an engine's stages, of its worker or of its program."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.patch import Mutant, Patch
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.strict import Strict, mistake

# The classes that faults without a sampler replace, by the first word of a fault's name.
_OF = {"chain": "reference/chain.py:Chain", "batch": "harness/protocol/sampling.py:Serving"}


class ProgramRow(Strict):
    """A fault of a program in another language, which plants it by its name."""

    name: str
    fault: str
    source: str = "ours"
    at: str = ""
    case: str = ""

    @model_validator(mode="after")
    def _has_a_name_of_two(self) -> Self:
        if self.name.count("/") != 1:
            raise ValueError(f"{self.name!r} must have the form SAMPLER/FAULT")
        return self


class FaultRow(ProgramRow):
    """A fault as it is written. replace, with: the one edit; edits: several."""

    of_order: bool = False
    of: str = ""
    file: str = ""
    replace: str = ""
    with_: str | None = Field(None, alias="with")
    edits: list[tuple[str, str]] = []

    @model_validator(mode="after")
    def _has_edits(self) -> Self:
        single = bool(self.replace) and self.with_ is not None
        if single == bool(self.edits) or bool(self.replace) != (self.with_ is not None):
            raise ValueError("needs either `replace` and `with`, or `edits`")
        return self


Row = TypeVar("Row", bound=ProgramRow)


def read_faults(path: Path) -> list[Mutant]:
    """Read the faults of a file. Raises InputError, which names file, fault and what to do."""
    return [
        Mutant(row.name, patch, row.source, row.at, row.case, row.fault, row.of_order)
        for row, patch in patches(path)
    ]


def patches(path: Path, of: str = "") -> Iterator[tuple[FaultRow, Patch]]:
    """Yield each fault of a file. of: what a fault replaces if it names nothing. Raises
    InputError."""
    for where, row in rows_of(path, FaultRow):
        edits = row.edits or [(row.replace, row.with_ or "")]
        replaced = row.of or of or _OF.get(row.name.partition("/")[0], "")
        yield row, Patch(where, row.name, tuple(edits), row.file, replaced)


def rows_of(path: Path, kind: type[Row]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a file, each behind its place. Raises InputError."""
    tables = toml_of(path, read_file(path, limits.TOML))
    rows = tables.pop("fault", None)
    if tables or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(path, "must have only [[fault]] tables", "write each fault as one")
    for number, table in enumerate(rows, start=1):
        where = f"{path}: fault {number} ({table.get('name', 'without a name')})"
        yield where, _row(where, table, kind)


def _row(where: str, table: dict[str, Any], kind: type[Row]) -> Row:
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        type, location, reason, fix = mistake(error)
        at = ".".join(map(str, location))
        if type == "extra_forbidden":
            fields = [field.alias or name for name, field in kind.model_fields.items()]
            fix = did_you_mean(at, fields) or fix
        raise InputError(f"{where}{at and f': {at}'}", reason, fix) from None
