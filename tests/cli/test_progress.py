"""harness/cli/progress.py: one line on a terminal; elsewhere a line every ten seconds."""

import io
import sys
from collections import Counter

import pytest

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.cli.progress import Progress, in_words, lines_of
from sampler_parity.harness.run.eta import Pace, Work
from tests.support.command_line import Terminal

RESULT = CaseResult(
    id="a",
    suite="s",
    samplers=["top_k"],
    steps=1,
    backends={"llama.cpp": BackendResult(verdict="diverged")},
    required={"llama.cpp": ["identical"]},
)
TIMED = TimingResult(id="timing/a", sampler="a", n_vocab=1, repetitions=1, ns={}, baseline="b")
WORST = RESULT.model_copy(
    update={"backends": {v: BackendResult(verdict=v) for v in ("crashed", "diverged", "boundary")}}
)
WORKS = [Work("cases", 5_000, 0, 1.0), Work("timed chains", 6_150, 0, 1.0)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Set the clock to the number in the list."""
    now = [1000.0]
    monkeypatch.setattr("sampler_parity.harness.cli.progress.time.monotonic", lambda: now[0])
    return now


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> io.StringIO:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.mark.parametrize("columns", ["60", "100"])
def test_a_terminal_is_shown_one_line_of_what_how_much_and_how_long(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stream = shown(monkeypatch, Terminal())
    with Progress()(WORKS) as report:
        clock[0] += 4
        report([WORST])
        assert "1 of 5,000 cases, about 7.3 h left, 1 crashed" in stream.getvalue()
        assert "\n" not in stream.getvalue()


def test_what_is_no_terminal_is_shown_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    stream = shown(monkeypatch, io.StringIO())
    with Progress()(WORKS) as report:
        for _ in range(25):
            clock[0] += 1
            report([RESULT] if clock[0] == 1015 else [], "round 3 of 15")
    assert stream.getvalue().splitlines() == [
        "running  0 of 5,000 cases, round 3 of 15",
        "running  1 of 5,000 cases, about 22.5 h left, 1 diverged, round 3 of 15",
    ]


def test_who_wants_quiet_is_shown_nothing(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    for stream in (Terminal(), io.StringIO()):
        shown(monkeypatch, stream)
        with Progress(quiet=True)(WORKS) as report:
            clock[0] += 100
            report([RESULT])
        assert stream.getvalue() == ""


def test_a_result_is_a_line_where_somebody_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(verbose=True)(WORKS) as report:
        report([RESULT, TIMED])
    assert capsys.readouterr().out == "DIVERGED a   llama.cpp\ntiming timing/a\n"
    assert list(lines_of([])) == []


def test_the_last_line_counts_everything() -> None:
    pace = Pace(WORKS, 0.0)
    pace.ended([RESULT] * 5_000 + [TIMED] * 6_150, 1.0)
    assert in_words(pace, Counter()) == "11,150 of 11,150, ending"
    text = in_words(pace, Counter(), "minimizing failure 1 of 3")
    assert text == "11,150 of 11,150, minimizing failure 1 of 3"
