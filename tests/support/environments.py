"""Environments of engines that are not installed: our own Python under their names."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sampler_parity.harness.backends import engines, environments
from sampler_parity.harness.backends.environments import Record, folder_of
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.files import sha256_of

OURS = f'exec "{sys.executable}" "$@"'


def only(
    monkeypatch: pytest.MonkeyPatch, folder: Path, rows: Mapping[str, Environment], **backends: str
) -> None:
    """Make these the only environments, with cache and locks in a folder of the test.

    backends: the environment of each name; the backend is `null`.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    locked = property(lambda row: folder / "locked" / row.name)
    monkeypatch.setattr(Environment, "locked", locked)
    monkeypatch.setattr(environments, "all_environments", lambda: rows)
    for name, environment in backends.items():
        row = engines.OWN["null"].model_copy(update={"name": name, "environment": environment})
        monkeypatch.setitem(engines.OWN, name, row)


def place(row: Environment, version: str = "", python: str = OURS) -> Path:
    """Create its folder, as if it had been installed, after `only`. python: shell code that its
    Python runs.
    """
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
