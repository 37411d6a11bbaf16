"""The arrays of a bundle, in artifacts/: what each file is called, and how it is written.

    CASE.BACKEND.npz             the stage that differs: ids, logits, p; got_ids, got_logits, got_p
    CASE.BACKEND.npy             a kept row: float32[n_vocab], the logits after the whole prompt
    CASE.BACKEND.generation.npz  a generation that differs: prompt, tokens up to there, the logits

A file is there whole or not at all.
"""

import errno
import hashlib
import io
import tokenize
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.errors import cannot_write

_LONGEST_STEM = 200  # bytes; a file's name has 255, and what was put behind the stem 20


def stage_file(case: str, backend: str) -> str:
    return f"{_stem(case, backend)}.npz"


def row_file(case: str, backend: str) -> str:
    return f"{_stem(case, backend)}.npy"


def generation_file(case: str, backend: str) -> str:
    return f"{_stem(case, backend)}.generation.npz"


def _stem(case: str, backend: str) -> str:
    name = f"{case}.{backend}"
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    if len(stem.encode()) <= _LONGEST_STEM:
        return stem
    return f"{stem[:40]}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:32]}"


def array_of(content: bytes) -> NDArray[Any]:
    """Read the array of a .npy file. Raises ValueError if it is none."""
    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OverflowError, MemoryError, TypeError) as error:
        raise ValueError(f"not an array: {error}") from None
    except (SyntaxError, tokenize.TokenError):  # its header is a Python literal
        raise ValueError("not an array: its header is malformed") from None
    return array


def write_arrays(path: Path, **arrays: Any) -> None:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_content(path, content.getvalue())


def write_row(path: Path, row: NDArray[np.float32]) -> None:
    content = io.BytesIO()
    np.save(content, row)
    write_content(path, content.getvalue())


def write_content(path: Path, content: bytes) -> None:
    """Write a file. Raises InputError if the disk is full; then no part of the file is left."""
    try:
        if path.parent.is_symlink():  # a backend put it there
            raise OSError(errno.ELOOP, "a link lies in place of its folder")
        disk.write_whole(path, content)
    except OSError as error:
        raise cannot_write(path, error, fix_of(error)) from None


def fix_of(error: OSError) -> str:
    """Return what to do so that a run can go on."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{'free space' if full else 'correct that'}, then run with --resume"
