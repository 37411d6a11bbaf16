"""Programs of engines in Python print the same under the recorder, and their stages are judged.

Install the engines first: `python scripts/install.py transformers`, `sampler-parity engines add
mlx_lm_server vllm_server`.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.servers.hugging_face import write_folder
from tests.support.command_line import COMMAND, problems

HERE = Path(__file__).parent / "programs"
ENVIRONMENTS = {"transformers": "", "mlx_lm": "mlx_lm_server", "vllm": "vllm_server"}
CHAINS = {"transformers": 10, "mlx_lm": 9, "vllm": 11}
FAULTS = {
    "transformers": {
        "k plus one": "top_k",
        "top_p is skipped": "top_p",
        "the history is shifted by one": "transformers_repetition_penalty",
        "the last survivor is lost": "min_p",
    },
    "mlx_lm": {
        "k plus one": "mlx_sampler",
        "top_p is another": "mlx_sampler",
        "the history is shifted by one": "mlx_penalties",
    },
    "vllm": {
        "k plus one": "vllm_top_k",
        "min_p is skipped": "vllm_min_p",
        "the history is shifted by one": "vllm_penalties",
    },
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_folder(model_path(GOLDEN), folder)
    return folder


def python_of(engine: str) -> str:
    """Return the Python of an engine; skip the test where it is not installed."""
    environment = ENVIRONMENTS[engine]
    if not environment:
        if not importlib.util.find_spec("torch") or not importlib.util.find_spec(engine):
            pytest.skip(f"unavailable: the extra {engine}")
        return sys.executable
    if why := environments.missing(environment):
        pytest.skip(f"unavailable: {why}")
    return str(environments.python_of(environments.folder_of(environment)))


def output_of(words: list[str]) -> str:
    """Return what a program prints. Raises CalledProcessError."""
    offline = os.environ | {"HF_HUB_OFFLINE": "1"}
    return subprocess.run(words, check=True, capture_output=True, text=True, env=offline).stdout


def judged(
    engine: str, model: Path, folder: Path, fault: list[str]
) -> tuple["subprocess.CompletedProcess[str]", str]:
    """Return the result of `check` for a recorded program, and what the program prints."""
    program = [python_of(engine), str(HERE / f"{engine}_texts.py"), str(model), *fault]
    record = [*COMMAND, "record", "--engine", engine, "-o", str(folder / "r"), "--"]
    text = output_of([*record, *program])
    check = [*COMMAND, "check", str(folder / "r"), "-o", str(folder / "b"), "--accept", "close"]
    return subprocess.run(check, capture_output=True, text=True), text


@pytest.mark.nightly
@pytest.mark.parametrize("engine", CHAINS)
def test_a_program_prints_the_same_and_every_stage_is_right(
    engine: str, model: Path, tmp_path: Path
) -> None:
    program = [python_of(engine), str(HERE / f"{engine}_texts.py"), str(model)]
    done, text = judged(engine, model, tmp_path, [])
    print(done.stdout)
    assert text == output_of(program)
    assert (done.returncode, problems(done.stderr)) == (0, [])
    assert f"in {CHAINS[engine]} chains" in done.stdout
    assert " 0 diverged" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("engine", "fault"), [(engine, fault) for engine, faults in FAULTS.items() for fault in faults]
)
def test_a_fault_in_the_engine_is_named_at_its_stage(
    engine: str, fault: str, model: Path, tmp_path: Path
) -> None:
    done, _ = judged(engine, model, tmp_path, [fault])
    named = re.findall(r"diverges? at (\w+)", done.stdout)
    assert (done.returncode, set(named)) == (1, {FAULTS[engine][fault]})
