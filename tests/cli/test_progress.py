"""harness/cli/progress.py: the bar is for who watches, and for nobody else."""

import io
import sys

import pytest

from sampler_parity.harness.bundle.records.case import BackendResult, CaseResult
from sampler_parity.harness.cli.progress import Progress

RESULT = CaseResult(
    id="a",
    suite="s",
    samplers=["top_k"],
    steps=1,
    backends={"llama.cpp": BackendResult(verdict="diverged")},
    required={"llama.cpp": ["identical"]},
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_shown_how_many_cases_are_done_with_which_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress(2) as seen:
        seen([RESULT, RESULT])
    shown = sys.stderr.getvalue()  # type: ignore[union-attr]
    assert "2/2" in shown
    assert "2 diverged" in shown


def test_what_is_no_terminal_is_shown_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress(2) as seen:
        seen([RESULT])
    assert sys.stderr.getvalue() == ""  # type: ignore[union-attr]
