"""Every failure of the command line prints one line and exits with status 2."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sampler_parity.harness.cli import __main__, app, output
from sampler_parity.harness.errors import InputError, Interrupted
from sampler_parity.harness.processes import supervisor

Ended = Callable[[Callable[[], Any]], tuple[int, str]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ended:
    """Return a function: the exit status and stderr of a command during which something happens."""

    def end(happens: Callable[[], Any]) -> tuple[int, str]:
        monkeypatch.setattr(app, "app", happens)
        with pytest.raises(SystemExit) as ends:
            app.main()
        assert isinstance(ends.value.code, int)
        return ends.value.code, capsys.readouterr().err

    return end


def raising(error: BaseException) -> Callable[[], Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("a.toml", "no such file"), "a.toml: no such file"),
        (OSError(24, "Too many open files", "x\x1b"), "x\\x1b: Too many open files"),
        (OSError(28, "No space left on device"), "the system: No space left on device"),
        (MemoryError(), "out of memory: use fewer processes (-j) or smaller input"),
        (BrokenProcessPool("x"), "a process of the run died: run with --resume"),
    ],
    ids=["input", "a file", "the system", "memory", "a process"],
)
def test_what_is_no_defect_of_ours_is_one_line(
    ended: Ended, error: BaseException, message: str
) -> None:
    assert ended(raising(error)) == (2, f"sampler-parity: {message}\n")


def test_a_defect_of_ours_is_one_line_that_names_its_traceback(
    ended: Ended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, line = ended(raising(ValueError("bad\x1b\nnumber \ud800")))
    (file,) = tmp_path.iterdir()
    assert (status, line) == (
        2,
        "sampler-parity: a defect of sampler-parity: ValueError: bad\\x1b number \\ud800:"
        f" report it, please, with {file}\n",
    )
    assert "in fail\n    raise error\n" in file.read_text()
    supervisor.sweep(str(tmp_path))  # of scratch files, when a run has ended
    assert file.exists()


def test_a_defect_is_one_line_where_no_file_can_be_written(
    ended: Ended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    status, message = ended(raising(ValueError("x")))
    (line,) = message.splitlines()
    assert status == 2
    assert line.endswith("its traceback could not be written: No such file or directory")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_standard_output_is_one_line(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "sampler-parity: standard output: cannot write: No space left on device\n"
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert ended(lambda: output.print_line("x")) == (2, line)


def test_a_reader_that_has_gone_is_no_failure_and_no_verdict(
    ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert ended(lambda: output.print_line("x")) == (141, "")


@pytest.fixture
def _signals_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_signals_as_before")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (SystemExit(130), "interrupted"),  # what Typer makes of it
        (Interrupted("interrupted after 3 of 4: add --resume"), None),
    ],
    ids=["anywhere", "in a command", "in a run"],
)
def test_an_interrupt_is_one_line_and_a_second_one_is_not_heard(
    ended: Ended, error: BaseException, message: str | None
) -> None:
    assert ended(raising(error)) == (130, f"sampler-parity: {message or error}\n")
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_a_second_interrupt_before_the_first_is_answered_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "app", raising(KeyboardInterrupt()))
    monkeypatch.setattr(app, "_interrupted", raising(KeyboardInterrupt()))
    with pytest.raises(SystemExit, match=r"^130$"):
        __main__.main()
    assert capsys.readouterr().err == "sampler-parity: interrupted\n"


def test_another_exit_status_is_left_alone(ended: Ended) -> None:
    assert ended(raising(SystemExit(1))) == (1, "")


def test_an_interrupt_while_modules_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    name = "sampler_parity.harness.cli.app"
    monkeypatch.setitem(sys.modules, name, Slow(name))
    with pytest.raises(SystemExit, match=r"^130$"):
        __main__.main()
    assert capsys.readouterr().err == "sampler-parity: interrupted\n"


def test_a_terminal_without_our_characters_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(app, "app", lambda: output.print_line("3 µs"))
    app.main()
    terminal.flush()
    assert terminal.buffer.getvalue() == b"3 \\xb5s\n"
