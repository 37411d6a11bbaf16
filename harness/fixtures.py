"""Golden fixtures: logits of a real model and recorded native results, as GGUF files.

`golden/manifest.toml` lists every file with its SHA-256 and where it comes from. Nothing is used
that is not listed there with the right digest.
"""

import functools
import hashlib
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from harness.errors import InputError


def golden_folder() -> Path:
    """The folder `golden/` of the checkout or of the installed wheel."""
    return Path(str(files("golden")))


def read_manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """Fixture name -> its entry. Raises InputError for a manifest that is missing or malformed."""
    path = folder / "manifest.toml"
    try:
        return tomllib.loads(path.read_text())["fixture"]  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise InputError(path, "missing", "run `sampler-parity golden regenerate`") from None
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise InputError(path, f"malformed: {error}", "restore it from the repository") from None


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(folder: Path, name: str) -> Path:
    """The file of a fixture, after checking it against the manifest. Raises InputError."""
    manifest = read_manifest(folder)
    if name not in manifest:
        known = ", ".join(sorted(manifest))
        raise InputError(folder / "manifest.toml", f"no fixture {name!r}", f"known: {known}")
    path = folder / manifest[name]["file"]
    if not path.is_file():
        raise InputError(path, "missing", "run `sampler-parity golden regenerate`")
    found = digest(path)
    if found != manifest[name]["sha256"]:
        raise InputError(
            path,
            f"SHA-256 is {found[:12]}..., the manifest says {manifest[name]['sha256'][:12]}...:"
            " altered, truncated or swapped",
            "restore it, or run `sampler-parity golden regenerate` and review the difference",
        )
    return path


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """All tensors of a GGUF file, by name. Raises InputError for a file that is no good GGUF."""
    try:
        reader = gguf.GGUFReader(path)
        return {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    except (ValueError, OSError, IndexError, KeyError) as error:
        raise InputError(path, f"not a readable GGUF file: {error}", "capture it again") from None


def read_logits(path: Path) -> NDArray[Any]:
    """The tensor `logits`, float32 or float16 [rows, n_vocab], finite. Raises InputError."""
    tensors = read_tensors(path)
    if "logits" not in tensors:
        raise InputError(path, "has no tensor `logits`", "make it with `sampler-parity capture`")
    rows = tensors["logits"]
    if rows.ndim != 2 or rows.dtype not in (np.float32, np.float16) or 0 in rows.shape:
        raise InputError(
            path,
            f"tensor `logits` is {rows.dtype}{list(rows.shape)}",
            "it must be float32 or float16 with two dimensions",
        )
    bad = np.argwhere(np.isnan(rows))
    if len(bad):
        raise InputError(path, f"row {bad[0][0]} has a NaN at token {bad[0][1]}", "capture it again")
    return rows


@functools.cache
def load(name: str) -> NDArray[Any]:
    """The rows of a golden fixture by name, or of a captured file by path. Raises InputError."""
    path = Path(name)
    if path.suffix == ".gguf":
        return read_logits(path)
    return read_logits(check(golden_folder(), name))
