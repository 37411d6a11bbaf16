"""`golden/manifest.toml`: every fixture with its SHA-256 and its origin.

The file is written by this module only; nobody edits it by hand.
"""

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.strict import STRICT, first_mistake

_HEADER = (
    "# Written by `sampler-parity capture` and `sampler-parity golden regenerate`; see README.md.\n"
)


class Provenance(BaseModel):
    """The fields of every entry of the manifest. Paths are relative to the manifest's folder."""

    model_config = ConfigDict(**STRICT, strict=True)

    file: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    command: str
    model: str
    model_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    llama_cpp: str
    system_info: str
    cpu: str
    libc: str
    gguf: str
    date: date


class LogitsEntry(Provenance):
    """rows x n_vocab logits. max_rows: the number asked for; absent if every row was."""

    kind: Literal["logits"]
    rows: int
    n_vocab: int
    dtype: Literal["float32", "float16"]
    prompts: str
    prompts_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    max_rows: int | None = None
    threads: int


class ResultsEntry(Provenance):
    """The output of llama.cpp's samplers on rows of the fixture `logits`."""

    kind: Literal["native-results"]
    logits: str
    logits_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    chains: int
    steps: int


Entry = Annotated[LogitsEntry | ResultsEntry, Field(discriminator="kind")]


def read_manifest(folder: Path) -> dict[str, LogitsEntry | ResultsEntry]:
    """Read the entries by fixture name. Raises InputError for a manifest that is missing or
    malformed."""
    return manifest_of(folder / "manifest.toml", {})


def manifest_of(path: Path, defaults: dict[str, Any]) -> dict[str, LogitsEntry | ResultsEntry]:
    """Read the entries of a file. defaults: fields that none of them has. Raises InputError."""
    restore = "restore it from the repository"
    entry: TypeAdapter[LogitsEntry | ResultsEntry] = TypeAdapter(Entry)
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["fixture"]
        return {name: entry.validate_python(value | defaults) for name, value in listed.items()}
    except FileNotFoundError:
        raise InputError(path, "missing", "run `sampler-parity golden regenerate`") from None
    except ValidationError as error:
        raise InputError(path, f"malformed: {first_mistake(error)}", restore) from None
    except (ValueError, KeyError, AttributeError, TypeError, OSError) as error:
        raise InputError(path, f"malformed: {error}", restore) from None


def write_manifest(folder: Path, entries: dict[str, LogitsEntry | ResultsEntry]) -> None:
    """Write the manifest, sorted by name, in one step. Raises InputError if it cannot."""
    blocks = []
    for name in sorted(entries):
        values = entries[name].model_dump(exclude_none=True)
        lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
        blocks.append("\n".join([f"[fixture.{_toml(name)}]", *lines]) + "\n")
    path = folder / "manifest.toml"
    part = folder / "manifest.toml.part"
    try:
        part.write_text("\n".join([_HEADER, *blocks]), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from None


def _toml(value: str | int | date) -> str:
    # a JSON string is a TOML string too, once DEL is escaped
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def register(folder: Path, name: str, entry: LogitsEntry | ResultsEntry) -> None:
    """Put an entry into the folder's manifest, replacing one of that name."""
    existing = read_manifest(folder) if (folder / "manifest.toml").exists() else {}
    write_manifest(folder, existing | {name: entry})
