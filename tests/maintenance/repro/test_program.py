"""`sampler-parity repro`: the program compiles without our code, and shows the difference."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.maintenance.repro.asked import LINES, ComparedStage
from sampler_parity.maintenance.repro.program import program
from tests.support.command_line import cli

INSTALLED = "v0.5.0"
OLDER = "b4753"  # top_n_sigma sorts and writes p; temp divides alike


def case(chain: list[dict[str, Any]], rows: list[list[float]], **fields: Any) -> StagesCase:
    return StagesCase(        id="t/t", description="a test", why="a test", chain=chain,
        logits=LiteralRows(rows=rows), steps=len(rows), **fields,
    )  # fmt: skip


def ran(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile the program as its third line states, and run it."""
    (folder / "repro.cpp").write_text(source)
    line = source.splitlines()[2].removeprefix("// ").split("  ")[0]
    command = line.replace("FOLDER", str(default_folder()))
    return subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False
    )


SIGMA = case([{"top_n_sigma": {"n": 1.0}}], [[10.0, 9.0, 5.0, float("-inf")]])
WHOLE = case(
    [
        {"logit_bias": {"logit_bias": [[2, 0.5], [0, float("-inf")]]}},
        {"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.3, "penalty_freq": 0.2}},
        {"top_k": {"k": 3}},
        {"top_p": {"p": 0.9}},
        {"temp_ext": {"temp": 0.8, "delta": 0.1}},
        {"dist": {"seed": 7}},
    ],
    [[0.1, 1.0, 2.5, -1.25], [1.0, 1.0, 0.1, 1e-30], [3.0, -0.0, 2.0, 2.0]],
    history=[1, 3],
)


@pytest.mark.slow
def test_the_program_shows_what_differs_and_exits_with_1(tmp_path: Path) -> None:
    done = ran(program(SIGMA, ComparedStage(0, 0, INSTALLED, OLDER), "top_n_sigma masks"), tmp_path)
    assert done.returncode == 1, done.stderr
    assert "behind top_n_sigma, expected and got" in done.stdout
    assert "sorted: expected 1, got 0\ndifferent\n" in done.stdout


@pytest.mark.slow
def test_a_whole_chain_of_three_steps_is_the_references_to_the_bit(tmp_path: Path) -> None:
    source = program(WHOLE, ComparedStage(2, 5, INSTALLED, INSTALLED), "none")
    done = ran(source, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the same"), done.stdout
    assert source.count("\n") <= LINES
    assert "sampler_parity" not in source


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (case([{"top_k": {"k": 1}}], [[0.5] * 500]), "has 500 logits"),
        (case([{"top_k": {"k": 1}}], [[0.123456789] * 350]), "would take"),
        (case([{"top_k": {"k": 1}}], [[1.0, 2.0]] * 2, script="clone"), "is not a plain chain"),
        (case([{"top_k": {"k": 1}}, {"dry": {"dry_multiplier": 1.0}}], [[1.0, 2.0]], vocab="bpe"),
         "needs vocab, which a program without a model lacks"),
    ],
)  # fmt: skip
def test_what_no_small_program_can_show_is_reported(wrong: StagesCase, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program(wrong, ComparedStage(0, 0, INSTALLED, INSTALLED), "")


@pytest.mark.slow
def test_a_failing_case_of_a_bundle_is_written_and_a_good_one_refused(tmp_path: Path) -> None:
    bundle, source = tmp_path / "b", tmp_path / "r.cpp"
    suites = ("parity/top_n_sigma", "parity/top_k")
    wanted = ("--case", "top_n_sigma/masked-is-left-out", "--case", "top_k/one")
    options = ("-b", "llama.cpp", "--reference", OLDER, "-o", bundle)
    assert cli("run", *suites, *wanted, *options).returncode == 1
    written = cli("repro", bundle, "top_n_sigma/masked-is-left-out", "-o", source)
    assert written.returncode == 0, written.stderr
    assert written.stdout.startswith(f"{source}\n")
    assert ran(source.read_text(), tmp_path).returncode == 1
    good = cli("repro", bundle, "top_k/one", "-o", tmp_path / "none.cpp")
    assert good.returncode == 2
    assert "differs on no backend" in good.stderr
    other = cli("repro", bundle, "top_k/one", "-b", "tsampler")
    assert "was not run on tsampler" in other.stderr
