"""The logits that bundles keep in artifacts/, to be compared across bundles."""

from pathlib import Path

import numpy as np

from sampler_parity.harness.bundle.artifacts import array_of, row_file
from sampler_parity.harness.checks.logits import DecodeResult, Rows
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits

Source = tuple[Path, DecodeResult, str]
"""A bundle's folder, a prompt in it, and a backend."""


def kept_rows(a: Source, b: Source) -> tuple[Rows, Rows]:
    """Return the rows of two backends for one prompt. Raises InputError."""
    first, second = _row(*a), _row(*b)
    if first.shape != second.shape:
        problem = f"{b[2]} has a different number of logits at {b[1].id}"
        raise InputError(b[0], problem, "make the bundle again")
    return first, second


def _row(folder: Path, decoded: DecodeResult, backend: str) -> Rows:
    """Read the kept row, as float32[1, n_vocab]. Raises InputError."""
    path = folder / "artifacts" / row_file(decoded.id, backend)
    try:
        row = array_of(read_file(path, limits.ARRAYS))
    except (InputError, ValueError):
        raise InputError(path, "missing or malformed", "make the bundle again") from None
    if row.ndim != 1 or row.dtype != np.float32 or np.isnan(row).any():
        raise InputError(path, "is not a row of float32 logits", "make the bundle again")
    return np.asarray(row)[np.newaxis]
