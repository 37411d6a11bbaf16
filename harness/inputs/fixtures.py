"""Golden fixtures: logits of a real model and recorded native results, as GGUF files.

`golden/manifest.toml` lists every file with its SHA-256 and its origin. It is written by this
module only; nobody edits it by hand. A fixture is used by name only if the manifest lists it with
the right digest. A file used by its path has no manifest, so each file also has a digest of its own
content (docs/background/golden.md describes the format).
"""

import functools
import hashlib
import json
import os
import tomllib
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sampler_parity.harness.errors import InputError, cannot_write
from sampler_parity.harness.files import sha256_of
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


ARCHITECTURE = "sampler-parity"
_PREFIX = f"{ARCHITECTURE}."
_CONTENT = "content_sha256"

Facts = dict[str, Any]
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Fixture:
    """Contents of a GGUF file: its facts (str, int, list[str]) and tensors by name."""

    facts: Facts
    tensors: Tensors


def golden_folder() -> Path:
    """Return the folder `golden/` of the checkout or of the installed wheel."""
    return Path(str(files("sampler_parity.golden")))


def check(folder: Path, name: str) -> Path:
    """Return the file of a fixture, checked against the manifest. Raises InputError."""
    manifest = read_manifest(folder)
    if name not in manifest:
        names = ", ".join(sorted(manifest))
        raise InputError(folder / "manifest.toml", f"no fixture {name!r}", f"known: {names}")
    entry = manifest[name]
    path = folder / entry.file
    if not path.is_file():
        raise InputError(path, "missing", "run `sampler-parity golden regenerate`")
    sha256 = sha256_of(path)
    if sha256 != entry.sha256:
        same_file = [fixture for fixture, listed in manifest.items() if listed.sha256 == sha256]
        reason = (
            f"it is the file of fixture {same_file[0]!r}" if same_file else "altered or truncated"
        )
        raise InputError(
            path,
            f"SHA-256 is {sha256[:12]}..., the manifest has {entry.sha256[:12]}...: {reason}",
            "restore it, or run `sampler-parity golden regenerate` and review the difference",
        )
    return path


def write(path: Path, facts: Facts, tensors: Tensors) -> None:
    """Write a fixture in one step: the same facts and tensors give the same bytes. Raises
    InputError if the file cannot be written."""
    import gguf  # slow to load

    part = path.with_name(path.name + ".part")
    try:
        part.touch()
        writer = gguf.GGUFWriter(part, ARCHITECTURE)
        for key, value in (facts | {_CONTENT: _content(facts, tensors)}).items():
            add = writer.add_array if isinstance(value, list) else writer.add_string
            add = writer.add_uint32 if isinstance(value, int) else add
            add(_PREFIX + key, value)
        for name, tensor in tensors.items():
            writer.add_tensor(name, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise cannot_write(path, error, "choose another -o") from None


def _content(facts: Facts, tensors: Tensors) -> str:
    """Return the SHA-256 over the facts and every tensor's name, type, shape and bytes."""
    hasher = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in tensors.items():
        hasher.update(f"{name} {tensor.dtype.name} {list(tensor.shape)}\n".encode())
        hasher.update(np.ascontiguousarray(tensor).data)
    return hasher.hexdigest()


def read(path: Path) -> Fixture:
    """Read a GGUF file. Raises InputError for one that is malformed, or whose digest is wrong. A
    GGUF file of another program has no digest and is taken as it is."""
    from sampler_parity.harness.inputs.gguf import BoundedReader  # slow to load

    if not path.is_file():
        raise InputError(path, "no such file", "name a file that `sampler-parity capture` wrote")
    try:
        with np.errstate(over="ignore"):
            reader = BoundedReader(path)
        architecture = _contents(reader.fields.get("general.architecture"))
        facts = {
            key.removeprefix(_PREFIX): _contents(field)
            for key, field in reader.fields.items()
            if key.startswith(_PREFIX)
        }
        tensors = {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    except (ValueError, OSError, LookupError, TypeError, OverflowError) as error:
        raise InputError(path, f"not a readable GGUF file: {error}", "capture it again") from None
    expected = facts.pop(_CONTENT, "")
    if (architecture == ARCHITECTURE or expected) and _content(facts, tensors) != expected:
        raise InputError(path, "its content does not match its digest: altered", "capture it again")
    return Fixture(facts, tensors)


def _contents(field: Any) -> Any:
    value = None if field is None else field.contents()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def read_logits(path: Path) -> NDArray[Any]:
    """Read the tensor `logits`, float32 or float16 [rows, n_vocab], without NaN. Raises
    InputError."""
    return logits_of(path, read(path))


def logits_of(path: Path, fixture: Fixture) -> NDArray[Any]:
    """Return the logits, as read_logits, of a fixture that was read from path."""
    if "logits" not in fixture.tensors:
        raise InputError(path, "has no tensor `logits`", "make it with `sampler-parity capture`")
    rows = fixture.tensors["logits"]
    if rows.ndim != 2 or rows.dtype not in (np.float32, np.float16) or 0 in rows.shape:
        raise InputError(
            path,
            f"tensor `logits` is {rows.dtype}{list(rows.shape)}",
            "it must be float32 or float16 with two dimensions",
        )
    bad = np.argwhere(np.isnan(rows))
    if len(bad):
        raise InputError(
            path, f"row {bad[0][0]} has a NaN at token {bad[0][1]}", "capture it again"
        )
    return rows


@functools.cache
def load(name: str) -> NDArray[Any]:
    """Load the rows of a golden fixture by name, or of a captured file by path. Raises
    InputError."""
    path = Path(name)
    if path.suffix == ".gguf":
        return read_logits(path)
    return read_logits(check(golden_folder(), name))
