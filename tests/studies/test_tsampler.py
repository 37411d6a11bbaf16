"""Measurements of tsampler's claims: `python -m studies.tsampler`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def output_of(study: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", f"studies.{study}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_claims_are_measured() -> None:
    lines = output_of("tsampler", "arithmetic")
    assert len(lines) == 3
    assert all("0 once rounded to float32" in line for line in lines[1:])
