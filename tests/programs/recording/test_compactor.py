"""The compactor keeps what is new or in use, and removes the oldest of the rest."""

import os
import sys
import time
from pathlib import Path

import pytest

from sampler_parity.programs.recording.compactor import keep
from sampler_parity.programs.recording.segments import unpacked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

ENDED = 2**22 + 1  # no process has this number


def segments(folder: Path, process: int, count: int, size: int = 1000) -> None:
    """Write segments of random bytes, each a second older than the next."""
    for number in range(1, count + 1):
        path = folder / f"{process}.{number:04}.arrays"
        path.write_bytes(os.urandom(size))
        at = time.time() - count + number
        os.utime(path, (at, at))


def names(folder: Path) -> list[str]:
    return sorted(path.name.partition(".")[2] for path in folder.iterdir())


def test_the_segment_that_is_written_stays_and_the_others_are_packed(tmp_path: Path) -> None:
    segments(tmp_path, os.getpid(), 3)
    content = (tmp_path / f"{os.getpid()}.0001.arrays").read_bytes()
    keep(tmp_path, 0, 0, 0, ended=False)
    assert names(tmp_path) == ["0001.arrays.z", "0002.arrays.z", "0003.arrays"]
    assert unpacked((tmp_path / f"{os.getpid()}.0001.arrays.z").read_bytes()) == content


def test_at_the_end_a_process_that_goes_on_keeps_its_last_segment(tmp_path: Path) -> None:
    segments(tmp_path, os.getpid(), 1)
    segments(tmp_path, ENDED, 1)
    keep(tmp_path, 0, 0, 0, ended=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"{os.getpid()}.0001.arrays", f"{ENDED}.0001.arrays.z"]
    )


def test_a_ring_of_bytes_keeps_the_newest(tmp_path: Path) -> None:
    segments(tmp_path, ENDED, 8)
    (tmp_path / f"{ENDED}.events").write_bytes(b"x" * 100_000)  # not the candidates
    keep(tmp_path, 4200, 0, 0, ended=True)
    assert names(tmp_path) == [*(f"000{n}.arrays.z" for n in (5, 6, 7, 8)), "events"] or names(
        tmp_path
    ) == [*(f"000{n}.arrays.z" for n in (6, 7, 8)), "events"]
    assert sum(path.stat().st_size for path in tmp_path.glob("*.z")) <= 4200


def test_a_ring_of_time_keeps_the_newest(tmp_path: Path) -> None:
    segments(tmp_path, ENDED, 8)
    keep(tmp_path, 0, 3500, 0, ended=True)
    assert names(tmp_path) == [f"000{n}.arrays.z" for n in (5, 6, 7, 8)]


@pytest.mark.parametrize(("limit", "stopped"), [(3000, True), (20_000, False), (0, False)])
def test_a_folder_above_its_limit_has_the_file_at_which_recorders_stop(
    tmp_path: Path, limit: int, stopped: bool
) -> None:
    segments(tmp_path, ENDED, 8)
    keep(tmp_path, 0, 0, limit, ended=False)
    assert (tmp_path / "stop").exists() == stopped
