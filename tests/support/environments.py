"""Environments of engines that nobody installed: our own Python under a name of theirs."""

import sys
from pathlib import Path

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.environments import Environment, Record, folder_of
from sampler_parity.harness.files import sha256_of

OURS = f'exec "{sys.executable}" "$@"'


def place(row: Environment, version: str = "", python: str = OURS) -> Path:
    """Its folder, as if it had been installed. LOCKED and the cache folder are the test's. python:
    what its Python does, for a shell."""
    row.locked.parent.mkdir(parents=True, exist_ok=True)
    row.locked.write_text("pins\n")
    folder = folder_of(row.name, version)
    if row.kind == "python":
        program = environments.python_of(folder)
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{python}\n")
        program.chmod(0o755)
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(
        name=row.name,
        version=version or row.version,
        locked="" if version else sha256_of(row.locked),
        packages={},
        seconds=1.0,
        size=1 << 20,
        added="2026-11-22",
    )
    (folder / "environment.json").write_text(record.model_dump_json())
    return folder
