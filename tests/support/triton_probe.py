"""The engines whose files run in Triton's interpreter: their edits, and probe.py in their
environment."""

import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sampler_parity.engines.shared.triton_faults import rows
from sampler_parity.engines.shared.triton_files import Edit, edit_of
from sampler_parity.harness.backends import environments

ROOT = Path(environments.__file__).parents[2]


def faults_of_probe(engine: str) -> dict[str, str]:
    """Return the planted faults of an engine's probe, each with the check that catches it."""
    return {row["name"]: row["case"] for row in rows(engine, "probe")}


def assert_every_edit_fits(engine: str, edits: Iterable[Edit], folder: str) -> None:
    """Apply each edit, those of the planted faults too, to its file. folder: in the environment."""
    root = next(path for path in _environment(engine).rglob(folder) if path.is_dir())
    texts = {file.as_posix(): file.read_text() for file in root.rglob("*.py")}
    planted = map(edit_of, rows(engine, "fault") + rows(engine, "probe"))
    for edit in [*edits, *planted]:
        end = f"/{edit.module.replace('.', '/')}.py"
        (text,) = (text for file, text in texts.items() if file.endswith(end))
        edit.applied(text)


@cache
def probed(engine: str, fault: str) -> dict[str, int]:
    """Return how many values of each check of the probe differ."""
    python = environments.python_of(_environment(engine))
    probe = ROOT / "engines" / engine / "probe.py"
    with TemporaryDirectory() as namespace:
        Path(namespace, "sampler_parity").symlink_to(ROOT)
        command = [str(python), "-I", str(probe), namespace, fault]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return {name: int(n) for name, n in map(str.split, done.stdout.splitlines())}


def _environment(engine: str) -> Path:
    if why := environments.missing(engine):
        pytest.skip(f"unavailable: {why}")
    return environments.folder_of(engine)
