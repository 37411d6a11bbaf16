"""`record --check`: faults are printed while the program runs; what is too old is dropped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.programs.recording.events import Library, Reset
from sampler_parity.programs.recording.live import LiveCheck
from sampler_parity.programs.recording.writer import RecordingWriter
from tests.support.command_line import COMMAND
from tests.support.recorded_programs import between, compile_program
from tests.support.recordings import sampled, write_recording

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

NEVER_LATE = 1e9


def started(
    folder: Path, fault: str, steps: int, pause_us: int, *options: str
) -> "subprocess.Popen[str]":
    """Record a program with `--check`, and with a fault between it and libllama."""
    program = compile_program("steps", folder / "steps")
    return subprocess.Popen(
        [*COMMAND, "record", "--check", *options, "-o", str(folder / "r"), "--",
         str(program), str(steps), str(pause_us)],
        env=os.environ | {"LD_PRELOAD": str(between("faults")), "FAULT": fault},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


@pytest.mark.slow
def test_a_fault_is_printed_while_the_program_runs(tmp_path: Path) -> None:
    with started(tmp_path, "k plus one", 3000, 20_000) as run:
        assert run.stderr is not None
        lines = iter(run.stderr)
        assert next(lines).startswith("sampler-parity records the texts")
        assert "/1 token 1, stage 2 of 5: top_k keeps one more than k allows" in next(lines)
        assert run.poll() is None
        assert len(list((tmp_path / "r").glob("*.events"))) == 1
        run.send_signal(signal.SIGTERM)
        rest = list(lines)
    assert run.returncode == -signal.SIGTERM
    assert "top_k differ" in rest[0]  # the summary
    assert [line for line in rest[1:] if "stopped: it was killed" not in line] == []


def test_what_a_slow_checker_cannot_follow_is_dropped_and_counted(tmp_path: Path) -> None:
    live, writer = LiveCheck(tmp_path, behind_s=-5), written(tmp_path)
    assert list(live.new()) == []
    assert "checked 0 of 3 stages of 0 applications" in live.summary()
    assert "; 3 applications dropped: `sampler-parity check" in live.summary()
    live.behind_s = NEVER_LATE  # it has caught up
    sampled(writer, 3, "0x1")
    assert list(live.new()) == []
    assert "checked 1 of 4 stages of 1 applications: none differs; 3 app" in live.summary()


def test_a_sampler_whose_draws_were_dropped_is_not_judged_until_its_reset(tmp_path: Path) -> None:
    live, writer = LiveCheck(tmp_path, behind_s=-5), written(tmp_path, sampler="dist")
    assert list(live.new()) == []
    live.behind_s = NEVER_LATE
    sampled(writer, 3, "0x1")
    assert list(live.new()) == []
    assert "checked 0 of 4 stages of 1 applications" in live.summary()


def test_a_damaged_process_is_left_in_one_line(tmp_path: Path) -> None:
    live = LiveCheck(tmp_path, behind_s=NEVER_LATE)
    writer = written(tmp_path)
    assert list(live.new()) == []
    with (tmp_path / f"{writer.pid}.events").open("ab") as file:
        file.write(b'{"e":"reset","s":"0x1","#":"00000000"}\n')
    (line,) = live.new()
    assert line.startswith(f"the checker leaves process {writer.pid}: {tmp_path}")
    assert list(live.new()) == []


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole")
    path = tmp_path / "whole" / f"{whole.pid}.events"
    content, growing = path.read_bytes(), tmp_path / "growing"
    growing.mkdir()
    for file in (tmp_path / "whole").glob("*.arrays"):
        file.rename(growing / file.name)
    live = LiveCheck(growing, behind_s=NEVER_LATE)
    for at in range(0, len(content) + 40, 40):
        (growing / path.name).write_bytes(content[:at])
        assert list(live.new()) == []
    assert "checked 3 of 3 stages of 3 applications: none differs" in live.summary()


def written(folder: Path, sampler: str = "top_k") -> RecordingWriter:
    return write_recording(folder, sampler=sampler, library=Library(path="", version="0.5.0"))


@pytest.mark.slow
def test_a_forked_process_goes_on_with_what_its_parent_sampled(tmp_path: Path) -> None:
    program = compile_program("steps", tmp_path / "steps")
    words = [str(program), "20", "0", "one chain, forked"]
    done = subprocess.run(
        [*COMMAND, "record", "--check", "-o", str(tmp_path / "r"), "--", *words],
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.stderr.splitlines()[1:] == [  # nothing else is printed
        "sampler-parity: checked 300 of 300 stages of 60 applications: none differs"
    ]


def test_what_is_judged_is_forgotten(tmp_path: Path) -> None:
    live = LiveCheck(tmp_path, behind_s=NEVER_LATE)
    writer = written(tmp_path)
    for _ in range(3):
        assert list(live.new()) == []
        assert [one.replay.uses for one in live.followed.values() if one] == [[]]
        writer.event(Reset(s="0x1"))
        sampled(writer, 1, "0x1")
    assert [one.replay.begun for one in live.followed.values() if one] == [3]
