"""`gate --replay`: it shows records that no run wrote, and programs that were exchanged."""

import shutil
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run.asked_again import share_of
from tests.attack.passes.forgery import Forgery
from tests.support.command_line import cli
from tests.support.two_programs import make_bundles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("again")
    make_bundles(made, ("parity/greedy",), minimized=False)
    return made


def forged(folder: Path, to: Path) -> Path:
    """Forge every verdict and every digest: only asking again is left to show it."""
    shutil.copytree(folder / "wrong", to)
    Forgery(to, folder / "right", "").pass_all()
    return to


@pytest.mark.slow
def test_bundle_as_the_run_wrote_it_gives_the_same_records(folder: Path, as_it_fails: None) -> None:
    done = cli("gate", folder / "right", "--replay", "10%", "--seed", "7")
    assert done.returncode == 0
    assert "seed 7   " in done.stdout
    again = cli("gate", folder / "wrong", "--replay", "50%", "--seed", "7")
    (line,) = (line for line in again.stdout.splitlines() if line.startswith("rule     replay"))
    assert line.endswith("met   met")  # a failure that was recorded is no contradiction


@pytest.mark.slow
def test_complete_forgery_passes_without_and_fails_with_a_replay(
    folder: Path, tmp_path: Path, as_it_fails: None
) -> None:
    bundle = forged(folder, tmp_path / "b")
    assert cli("gate", bundle).returncode == 0
    done = cli("gate", bundle, "--replay", "100%")
    assert done.returncode == 1
    assert "diverged when asked again   asked: identical, as the bundle has it" in done.stdout


@pytest.mark.slow
def test_program_that_was_exchanged_since_the_run_is_named(folder: Path, as_it_fails: None) -> None:
    program = folder / "right.py"
    before = program.read_bytes()
    shutil.copy(folder / "wrong.py", program)
    try:
        done = cli("gate", folder / "right", "--replay", "5%", "--seed", "1")
    finally:
        program.write_bytes(before)
    assert done.returncode == 1
    assert "FAILED replay of" in done.stdout
    assert "fix: judge the program that was run, or run this one" in done.stdout


@pytest.mark.parametrize("text", ["", "0%", "101%", "1", "x%", "-1%", "nan%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a share of the cases"):
        share_of(text)
