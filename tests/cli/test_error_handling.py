"""Every failure of the command line prints one line and exits with status 2."""

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


def ended(monkeypatch: pytest.MonkeyPatch, failing: Callable[[], Any]) -> int:
    """Return the exit status of a command during which this happens."""
    monkeypatch.setattr(app, "app", failing)
    with pytest.raises(SystemExit) as ends:
        app.main()
    assert isinstance(ends.value.code, int)
    return ends.value.code


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
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    message: str,
) -> None:
    assert ended(monkeypatch, raising(error)) == 2
    assert capsys.readouterr().err == f"sampler-parity: {message}\n"


def test_a_defect_of_ours_is_one_line_that_names_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ended(monkeypatch, raising(ValueError("bad\x1b\nnumber \ud800"))) == 2
    (file,) = tmp_path.iterdir()
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "sampler-parity: a defect of sampler-parity: ValueError: bad\\x1b number \\ud800:"
        f" report it, please, with {file}"
    )
    assert "in fail\n    raise error\n" in file.read_text()
    supervisor.sweep(str(tmp_path))  # of scratch files, when a run has ended
    assert file.exists()


def test_a_defect_is_one_line_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert ended(monkeypatch, raising(ValueError("x"))) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("its traceback could not be written: No such file or directory")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_standard_output_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert ended(monkeypatch, lambda: output.print_line("x")) == 2
    line = "sampler-parity: standard output: cannot write: No space left on device\n"
    assert capsys.readouterr().err == line


def test_a_reader_that_has_gone_is_no_failure_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import os

    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert ended(monkeypatch, lambda: output.print_line("x")) == 141
    assert capsys.readouterr().err == ""


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
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    message: str | None,
) -> None:
    assert ended(monkeypatch, raising(error)) == 130
    assert capsys.readouterr().err == f"sampler-parity: {message or error}\n"
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_a_second_interrupt_before_the_first_is_answered_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "app", raising(KeyboardInterrupt()))
    monkeypatch.setattr(app, "_interrupted", raising(KeyboardInterrupt()))
    with pytest.raises(SystemExit) as ends:
        __main__.main()
    assert ends.value.code == 130
    assert capsys.readouterr().err == "sampler-parity: interrupted\n"


def test_another_exit_status_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, raising(SystemExit(1))) == 1
    assert capsys.readouterr().err == ""


def test_an_interrupt_while_modules_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    name = "sampler_parity.harness.cli.app"
    monkeypatch.setitem(sys.modules, name, Slow(name))
    with pytest.raises(SystemExit) as ends:
        __main__.main()
    assert ends.value.code == 130
    assert capsys.readouterr().err == "sampler-parity: interrupted\n"


def test_a_terminal_without_our_characters_gets_escapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import io

    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(app, "app", lambda: output.print_line("3 µs"))
    app.main()
    terminal.flush()
    assert terminal.buffer.getvalue() == b"3 \\xb5s\n"
