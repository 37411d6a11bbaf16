"""A bundle and a history that release 0.1.0 wrote are read, reported and gated as it did.

tests/support/last_release holds both, with the reports of that release: 2 cases, a distribution
cell, a timing and a skip ratio on llama.cpp and on a planted fault.
"""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.timed_records import SkipRatioResult, TimingResult
from sampler_parity.harness.cli.app import app

WRITTEN = Path(__file__).parent.parent / "support" / "last_release"


def output_of(*arguments: str | Path, status: int) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


def test_every_record_of_the_last_release_is_read() -> None:
    read = bundle.read_finished(WRITTEN / "bundle")
    others = [len(read.of(kind)) for kind in (DistributionResult, TimingResult, SkipRatioResult)]
    assert [len(read.cases), *others] == [2, 1, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index", "parity", "distribution", "throughput", "skip-ratio"])
def test_report_of_the_last_release_reads_as_it_did(page: str, tmp_path: Path) -> None:
    output_of("report", WRITTEN / "bundle", "-f", "md", "-o", tmp_path, status=0)
    expected = (WRITTEN / "report" / f"{page}.md").read_text(encoding="utf-8")
    assert (tmp_path / f"{page}.md").read_text(encoding="utf-8") == expected


@pytest.mark.slow
def test_gate_judges_what_the_last_release_says_of_itself_as_it_did() -> None:
    command = ("gate", WRITTEN / "bundle", "--policy", WRITTEN / "gate.toml", "--no-recompute")
    lines = output_of(*command, status=1).splitlines()
    before = (WRITTEN / "gate.txt").read_text(encoding="utf-8").splitlines()
    said = [line.partition("   id: ")[0] for line in lines]  # it had no ids of findings
    assert [line for line in said if not line.startswith("note ")] == before


def test_gate_refuses_the_suites_of_the_last_release() -> None:
    done = CliRunner().invoke(app, ["gate", str(WRITTEN / "bundle")])
    assert done.exit_code == 1
    assert "digests, and every run writes them" in str(done.exception)


def test_explain_shows_the_last_release_as_it_did() -> None:
    output = output_of("explain", WRITTEN / "bundle", "top_p/crossing-token-is-kept", status=0)
    assert output == (WRITTEN / "explain.txt").read_text(encoding="utf-8")


def test_history_of_the_last_release_is_shown_and_goes_on(tmp_path: Path) -> None:
    database = tmp_path / "history.sqlite"
    shutil.copy(WRITTEN / "history.sqlite", database)
    shown = (WRITTEN / "history.txt").read_text(encoding="utf-8")
    assert output_of("history", "show", "-d", database, status=0) == shown
    again = output_of("history", "add", WRITTEN / "bundle", "-d", database, status=0)
    assert "already" in again
    assert output_of("history", "show", "-d", database, status=0) == shown
