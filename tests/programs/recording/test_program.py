"""The recorder never disturbs a program: a difficult one, a full disk, a folder that is gone."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.programs.recording import program
from sampler_parity.programs.recording.check import Checked
from sampler_parity.programs.recording.info import info_of
from sampler_parity.programs.recording.library import recorder
from sampler_parity.programs.recording.program import Options
from sampler_parity.programs.recording.reader import Recording
from tests.support.command_line import COMMAND
from tests.support.recorded_programs import PROGRAMS, between, compile_program, judged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

KILLED = "it was killed, or could not write (a full disk?)"
# Each with the tokens that are recorded of 20 a chain, and how often the recorder stops.
MODES = {
    "fork": (60, 0),
    "pipe": (60, 0),
    "exec": (60, 0),
    "threads": (120, 0),
    "closed descriptors": (40, 0),
    "daemon": (40, 0),
    "_exit": (20, 0),
    "abort": (20, 1),
}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("steps", tmp_path_factory.mktemp("steps") / "steps")


def run(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, **options)
    assert isinstance(done.stdout, str)
    return done


def recorded(
    folder: Path, *words: object, options: tuple[str, ...] = (), **more: Any
) -> "subprocess.CompletedProcess[str]":
    return run(*COMMAND, "record", *options, "-o", folder, "--", *words, **more)


def stops(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """Return the lines after the first, without the name of the process."""
    first, *rest = done.stderr.splitlines()
    assert first.startswith("sampler-parity records the texts that the model reads and writes to ")
    return [line.partition(" stopped: ")[2] or line for line in rest]


def judged_right(recording: Path) -> Checked:
    """Check a recording: nothing may differ."""
    checked, differing = judged(recording)
    assert differing == set()
    return checked


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_difficult_program_is_as_without_the_recorder(
    tmp_path: Path, steps: Path, mode: str
) -> None:
    words, (tokens, stopped) = (steps, 20, 0, mode), MODES[mode]
    alone, done = run(*words), recorded(tmp_path / "r", *words)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert stops(done) == [KILLED] * stopped
    checked = judged_right(tmp_path / "r")
    assert checked.applies >= tokens
    assert checked.judged == 5 * checked.applies


@pytest.mark.slow
def test_a_child_whose_parent_has_ended_is_recorded_with_its_texts(
    tmp_path: Path, steps: Path
) -> None:
    more = {"LD_PRELOAD": str(between("orphan", PROGRAMS))}
    done = recorded(tmp_path / "r", steps, 20, 0, "fork", env=os.environ | more)
    assert stops(done) == []
    assert judged_right(tmp_path / "r").applies >= MODES["fork"][0]


@pytest.mark.slow
def test_a_program_that_removes_the_folder_goes_on(tmp_path: Path, steps: Path) -> None:
    alone = run(steps, 20, 0)
    done = recorded(tmp_path / "r", steps, 20, 0, "no folder", options=("--check",))
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert done.stderr.splitlines()[-1] == (
        "sampler-parity: nothing is recorded: the program removed the folder of the recording"
    )


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_leaves_the_program_alone(steps: Path) -> None:
    variables = program.variables(Path("/proc/self"), Options(), recorder())
    done = run(steps, 20, 0, env=os.environ | variables)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == run(steps, 20, 0).stdout


@pytest.mark.slow
@pytest.mark.parametrize("size", [50_000, 50_001, 300_000])
def test_a_full_disk_ends_the_recording_after_its_last_whole_token(
    tmp_path: Path, steps: Path, size: int
) -> None:
    more = {"LD_PRELOAD": str(between("full", PROGRAMS)), "FULL_AFTER": str(size)}
    done = recorded(tmp_path / "r", steps, 30, 0, env=os.environ | more)
    assert (done.returncode, done.stdout) == (7, run(steps, 30, 0).stdout)
    assert stops(done) == [KILLED]
    assert 0 < judged_right(tmp_path / "r").applies < 60


@pytest.mark.slow
def test_the_largest_size_of_a_file_ends_the_recording_in_one_line(
    tmp_path: Path, steps: Path
) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = recorded(tmp_path / "r", steps, 30, 0, preexec_fn=limited)
    assert (done.returncode, done.stdout) == (7, run(steps, 30, 0).stdout)
    assert stops(done) == ["cannot write: the largest size of a file here"]
    assert 0 < judged_right(tmp_path / "r").applies < 60


@pytest.mark.slow
def test_a_limit_ends_the_recording_in_one_line(tmp_path: Path, steps: Path) -> None:
    done = recorded(tmp_path / "r", steps, 200, 0, options=("--limit", "1MiB"))
    assert (done.returncode, done.stdout) == (7, run(steps, 200, 0).stdout)
    assert stops(done) == ["the limit on disk is reached"]
    size = sum(path.stat().st_size for path in (tmp_path / "r").iterdir())
    assert size < 2**20 + 10_000
    assert 40 < judged_right(tmp_path / "r").applies < 400


@pytest.mark.slow
def test_a_ring_of_time_has_the_newest_and_the_rest_is_not_judged(
    tmp_path: Path, steps: Path
) -> None:
    done = recorded(tmp_path / "r", steps, 250, 10_000, options=("--keep", "2s"))
    assert (done.returncode, stops(done)) == (7, [])
    checked = judged_right(tmp_path / "r")
    assert checked.applies == 500
    gone = "the candidates before it are gone: --keep removed them"
    lost = "its state is unknown: earlier candidates were not recorded"
    assert checked.unjudged.keys() == {gone, lost}  # dist needs its earlier draws
    assert 100 < checked.unjudged[gone] < 5 * 450
    assert checked.judged + sum(checked.unjudged.values()) == 2500


@pytest.mark.slow
def test_a_finished_recording_has_digests_and_is_for_its_owner_alone(
    tmp_path: Path, steps: Path
) -> None:
    recorded(tmp_path / "r", steps, 20, 0)
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o700
    (packed,) = (tmp_path / "r").glob("*.arrays.z")
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600
    info = info_of(tmp_path / "r")
    assert info is not None
    assert info.status == 7
    (process,) = Recording(tmp_path / "r").processes
    assert sorted(info.files) == [f"{process.name}.0001.arrays.z", f"{process.name}.events"]
