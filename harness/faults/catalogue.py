"""Faults that are written as text: one TOML file per sampler, chain.toml and batch.toml."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.strict import Strict, mistake

# The classes that faults without a sampler replace, by the first word of a fault's name.
_OF = {"chain": "reference/chain.py:Chain", "batch": "harness/protocol/serving.py:Serving"}


class FaultRow(Strict):
    """A fault as it is written. replace, with: the one edit; edits: several."""

    name: str
    fault: str
    source: str = "ours"
    at: str = ""
    case: str = ""
    of_order: bool = False
    of: str = ""
    file: str = ""
    replace: str = ""
    with_: str | None = Field(None, alias="with")
    edits: list[tuple[str, str]] = []

    @model_validator(mode="after")
    def _has_edits(self) -> Self:
        one = bool(self.replace) and self.with_ is not None
        if one == bool(self.edits) or bool(self.replace) != (self.with_ is not None):
            raise ValueError("needs `replace` and `with`, or `edits`")
        if self.name.count("/") != 1:
            raise ValueError(f"{self.name!r} is no name SAMPLER/FAULT")
        return self


def read_faults(path: Path) -> list[Mutant]:
    """Read the faults of a file. Raises InputError, which names file, fault and what to do."""
    tables = toml_of(path, read_file(path, limits.TOML))
    rows = tables.pop("fault", None)
    if tables or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(path, "has more or less than [[fault]]", "write each fault as one")
    return [_fault(path, number, row) for number, row in enumerate(rows, start=1)]


def _fault(path: Path, number: int, table: dict[str, Any]) -> Mutant:
    place = f"{path}: fault {number} ({table.get('name', 'without a name')})"
    try:
        row = FaultRow.model_validate(table)
    except ValidationError as error:
        type, location, reason, fix = mistake(error)
        at = ".".join(map(str, location))
        if type == "extra_forbidden":
            fields = [field.alias or name for name, field in FaultRow.model_fields.items()]
            fix = did_you_mean(at, fields) or fix
        raise InputError(f"{place}{at and f': {at}'}", reason, fix) from None
    edits = row.edits or [(row.replace, row.with_ or "")]
    of = row.of or _OF.get(row.name.partition("/")[0], "")
    patch = Patch(place, row.name, tuple(edits), row.file, of)
    return Mutant(row.name, patch, row.source, row.at, row.case, row.fault, row.of_order)
