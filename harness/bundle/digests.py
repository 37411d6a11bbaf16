"""`digests`: the file by which `--resume` detects a changed bundle, one line for run.json and each
result.

The first is the start of the SHA-256 of run.json, each other that of results.jsonl up to its line.
A digest reaches the disk before its line. A killed run can leave more digests than lines, never
fewer. A program that can write the file can also write other digests.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file
from sampler_parity.harness.sanitize import limits

NAME = "digests"
_DIGITS = 16
_REDO = "run again without --resume, to another -o"
FIX = f"put it back, or keep only the lines above it, or {_REDO}"


def of_run(run_sha256: str) -> bytes:
    return f"{run_sha256[:_DIGITS]}\n".encode()


def of_lines(sha256: Any, lines: Iterable[bytes]) -> bytes:
    """Return the digests of lines. sha256: of the lines above; it takes these, too."""
    return b"".join(_of_line(sha256, line) for line in lines)


def _of_line(sha256: Any, line: bytes) -> bytes:
    sha256.update(line)
    return f"{sha256.hexdigest()[:_DIGITS]}\n".encode()


def refuse_changed(folder: Path, run_sha256: str) -> None:
    """Raise InputError, with file and line, if run.json or a whole line of results.jsonl is not as
    the run wrote it. Lines may be missing at the end: a killed run did not write them."""
    path = folder / "results.jsonl"
    try:
        digests = open_file(folder / NAME)
    except FileNotFoundError:
        problem = "missing: changes of the results cannot be detected"
        raise InputError(folder / NAME, problem, _REDO) from None
    with digests, open_file(path) as results:
        if digests.readline(_DIGITS + 2) != of_run(run_sha256):
            problem = f"has changed since the run: {NAME} has another digest"
            raise InputError(folder / "run.json", problem, f"put it back, or {_REDO}")
        sha256 = hashlib.sha256()
        for number, line in enumerate(iter(lambda: results.readline(limits.RECORD), b""), 1):
            complete = line.endswith(b"\n")
            if complete and digests.readline(_DIGITS + 2) != _of_line(sha256, line):
                raise InputError(f"{path}:{number}", "has changed since the run", FIX)
