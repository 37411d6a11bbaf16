"""The runners in six languages: each passes its small sampler, and reports four planted faults."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sampler_parity.vectors.written import Contents, write

RUNNERS = Path(__file__).resolve().parents[2] / "vectors" / "runners"
SUITES = ["parity/top_k", "parity/top_p", "parity/penalties", "parity/greedy", "parity/temp"]
# Rust names each file of the kit in its tests.
OTHERS = ["min_p", "typical_p", "xtc", "top_n_sigma", "temp_ext", "dry", "logit_bias", "dist"]


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "kit"
    suites = [*SUITES, *(f"parity/{sampler}" for sampler in OTHERS)]
    write(Contents(suites, "quick", 12), folder)
    return folder


def commands(language: str, folder: Path) -> tuple[list[list[str]], list[str], Path]:
    """Return what compiles a runner, what runs it, and where."""
    here = RUNNERS / language
    match language:
        case "javascript":
            return [], ["node", "--test", "run_vectors.test.mjs"], here
        case "rust":
            return [], ["cargo", "test", "--quiet", "--offline"], here
        case "cpp":
            made = str(folder / "run_vectors")
            return [["g++", "-std=c++17", "main.cpp", "-o", made]], [made], here
        case "java":
            made = str(folder / "classes")
            files = [str(path) for path in sorted(here.glob("*.java"))]
            return [["javac", "-d", made, *files]], ["java", "-cp", made, "RunVectors"], here
    return [], ["go", "test", "-count=1", "./..."], here


FIRST = {"javascript": "node", "rust": "cargo", "cpp": "g++", "java": "javac", "go": "go"}


@pytest.mark.slow
@pytest.mark.parametrize("language", FIRST)
def test_a_runner_passes_its_small_sampler_and_reports_four_faults(
    kit: Path, tmp_path: Path, language: str
) -> None:
    if shutil.which(FIRST[language]) is None:
        pytest.skip(f"no {FIRST[language]} on this machine")
    compile, run, where = commands(language, tmp_path)
    caches = {"CARGO_TARGET_DIR": str(tmp_path / "target"), "GOCACHE": str(tmp_path / "go")}
    here = {**os.environ, **caches, "VECTORS": str(kit)}
    for name in ("NODE_TEST_CONTEXT", "FAULT", "EXACT"):
        here.pop(name, None)
    for command in compile:
        subprocess.run(command, cwd=where, check=True, env=here)
    for changed, sampler in (
        ({}, ""),
        ({"FAULT": "crossing"}, "top_p"),
        ({"FAULT": "ties"}, "top_k"),
        ({"FAULT": "once"}, "penalties"),
        ({"FAULT": "reset"}, "penalties"),
        ({"EXACT": "1"}, "penalties"),  # it is float64: the last bits differ
    ):
        done = subprocess.run(
            run, cwd=where, env={**here, **changed}, capture_output=True, encoding="utf-8"
        )
        text = done.stdout + done.stderr
        assert (done.returncode != 0) == bool(changed), text
        assert not changed or f"{sampler}/" in text, text
    assert not (where / "target").exists()
