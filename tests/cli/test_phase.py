"""harness/processes/phase.py: a long phase is named in one line on stderr."""

import time

import pytest

from sampler_parity.harness.cli import list as list_cli
from sampler_parity.harness.processes.phase import phase
from tests.support.command_line import cli


@pytest.mark.parametrize(("seconds", "named"), [(1.0, ["working  expanding the suites"]), (0, [])])
def test_a_slow_phase_is_named_once(
    monkeypatch: pytest.MonkeyPatch, seconds: float, named: list[str]
) -> None:
    @phase("expanding the suites")
    def slow(suite: str) -> list[tuple[str, str]]:
        time.sleep(seconds)
        return [("top_p/a", "")]

    monkeypatch.setattr(list_cli, "_names", slow)
    done = cli("list", "cases", "parity/top_p", "parity/top_k", "--no-cache", after_s=0.3)
    assert done.stdout == "top_p/a\n" * 2
    assert [line for line in done.stderr.splitlines() if "list cases" not in line] == named


def test_a_slow_start_is_named_by_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(suite: str) -> list[tuple[str, str]]:
        time.sleep(0.6)
        return [("a", "")]

    monkeypatch.setattr(list_cli, "_names", slow)
    done = cli("list", "cases", "parity/top_p", "--no-cache", after_s=0.2)
    assert done.stderr == "working  list cases\n"
