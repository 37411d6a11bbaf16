"""An adapter that kills the run itself does not stop `--resume` for ever."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.run.crash_journal import FOLDER, REASON, InFlight, deaths
from tests.support import exchanged, many_adapter
from tests.support.command_line import COMMAND, ROOT

# At the third case it kills the process group of its parent, which is the whole run.
KILLS = "ask['do'] == 'run' and ask['chain'][0]['temp']['temp'] == 3 and kill()"


KILL = f"""
def kill():
    import os, time
    os.killpg(os.getpgid(os.getppid()), {int(signal.SIGKILL)})
    time.sleep(9)


def main()"""


def killing_adapter(path: Path) -> list[str]:
    command = exchanged.python_adapter(path, KILLS)
    path.write_text(path.read_text().replace("def main()", KILL))
    return command


def started(folder: Path, command: list[str], *more: str, jobs: str = "1") -> int:
    """Run in a process group of its own; return the exit status."""
    backends = ["-b", f"mine={shlex.join(command)}", "-b", "reference"]
    words = ["run", str(exchanged.suite(folder)), *backends, "-o", str(folder / "b"), "-j", jobs]
    run = subprocess.run(
        [*COMMAND, *words, *more],
        cwd=ROOT,
        capture_output=True,
        start_new_session=True,
        timeout=120,
    )
    return run.returncode


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.slow
def test_case_that_kills_the_run_twice_is_crashed_and_the_run_ends(
    tmp_path: Path, jobs: str
) -> None:
    command = killing_adapter(tmp_path / "adapter.py")
    assert started(tmp_path, command, jobs=jobs) == -signal.SIGKILL
    assert started(tmp_path, command, "--resume", jobs=jobs) == -signal.SIGKILL

    assert started(tmp_path, command, "--resume", jobs=jobs) == 1

    cases = bundle.read_finished(tmp_path / "b").cases
    assert len(cases) == exchanged.CASES
    crashed = [case for case in cases if case.backends["mine"].verdict == "crashed"]
    assert [case.backends["mine"].detail for case in crashed] == [REASON]
    assert {case.backends["reference"].verdict for case in cases} == {"identical"}
    assert not (tmp_path / "b" / FOLDER).exists()


@pytest.mark.slow
def test_run_that_dies_of_one_of_many_cases_at_once_gets_past_it(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", many_adapter.__file__]
    assert started(tmp_path, command) == 0  # so that all answers are known
    killing, guilty = [*command, "kills=3"], "small/many/normal-V16-t3"
    asked: list[str] = []
    while len(asked) < 2:  # it is alone if it is drawn for the spot check, in one of 64 runs
        shutil.rmtree(tmp_path / "b")
        assert started(tmp_path, killing) == -signal.SIGKILL
        written = [path.read_text() for path in (tmp_path / "b" / FOLDER).iterdir()]
        (lines,) = [text.split("\n\n")[0].splitlines() for text in written if text.strip()]
        asked = [json.loads(line)[0] for line in lines]
        assert guilty in asked

    assert started(tmp_path, killing, "--resume") == -signal.SIGKILL  # of the guilty one alone
    assert started(tmp_path, killing, "--resume") == 1

    cases = {case.id: case.backends for case in bundle.read_finished(tmp_path / "b").cases}
    assert len(cases) == exchanged.CASES
    crashed = {id: got["mine"].detail for id, got in cases.items() if got["mine"].detail}
    assert crashed == {guilty: REASON}


def test_a_shorter_request_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    asked = InFlight(tmp_path, *(f"item {i}" for i in range(50)))
    asked.asking("mine")
    asked.items = ["b"]
    asked.asking("mine")
    os.close(asked._file)
    assert interrupted(tmp_path) == {("b", "mine"): 1}


def died(folder: Path, item: str, backend: str, *more: str) -> None:
    """Leave what a process leaves that is killed while this backend is asked."""
    asked = InFlight(folder, item, *more)
    asked.asking(backend)
    os.close(asked._file)


def interrupted(folder: Path, item: str = "") -> dict[tuple[str, str], int]:
    """Begin a run that Ctrl-C ends; return its deaths. item: what it then asks for."""
    found: dict[tuple[str, str], int] = {}

    def run() -> None:
        with deaths(folder) as known:
            found.update(known)
            if item:
                died(folder, item, "mine")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    return found


def test_request_that_was_answered_or_a_run_that_ended_counts_for_nothing(tmp_path: Path) -> None:
    asked = InFlight(tmp_path, "a")
    asked.asking("mine")
    asked.asking("")
    os.close(asked._file)
    assert interrupted(tmp_path, "b") == {}
    assert interrupted(tmp_path) == {}


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b'{"a": 1}', b"[" * 10_000, b'["a"'])
def test_what_a_backend_writes_there_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "77").write_bytes(content)
    (tmp_path / FOLDER / "deaths").write_bytes(content)
    with deaths(tmp_path) as known:
        assert not known


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / FOLDER / str(os.getpid())).symlink_to(other)
    with InFlight(tmp_path, "a") as asked:
        asked.asking("mine")
    assert other.read_text() == "kept"
