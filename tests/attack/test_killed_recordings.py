"""A recorded program, its recorder and its compactor are killed; `make attack` kills 200."""

import sys
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording.reader import Recording
from tests.attack.killed_recordings import applies_of, kill_often
from tests.support.recordings import write_recording

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux"),
    pytest.mark.slow,
]


def test_processes_of_a_recording_can_be_killed(tmp_path: Path) -> None:
    assert kill_often(3, 20261125, tmp_path).startswith("3 kills")


@pytest.mark.parametrize("change", ["a line is gone", "a line is another", "lines are swapped"])
def test_a_change_in_the_middle_is_refused_with_file_and_line(tmp_path: Path, change: str) -> None:
    write_recording(tmp_path, steps=5)
    assert applies_of(tmp_path) == 5
    (process,) = Recording(tmp_path).processes
    lines = process.path.read_bytes().splitlines(keepends=True)
    match change:
        case "a line is gone":
            del lines[5]
        case "a line is another":
            lines[5] = lines[5].replace(b'"token":', b'"token": ')
        case "lines are swapped":
            lines[5], lines[6] = lines[6], lines[5]
    process.path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=rf"{process.name}.events:6: is damaged: its digest does"):
        applies_of(tmp_path)
