"""Distribution tests and calibration in every format."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.errors import InputError
from sampler_parity.reports.page import summary_lines
from sampler_parity.reports.write import write_report
from tests.support.report_bundles import HOSTILE, read_back, run_info
from tests.support.several_bundles import calibration


def cell(name: str, decision: str, p_value: float, **changed: Any) -> DistributionResult:
    outcome: dict[str, Any] = {
        "decision": decision,
        "draws": 1000,
        "estimate": 0.001,
        "low": 0.0,
        "high": 0.004,
    }
    outcome |= {"p_value": p_value, "detail": f"{name} {HOSTILE}"}
    fields: dict[str, Any] = {
        "id": name,
        "suite": "distribution/s",
        "what": "frequency",
        "samplers": ["dist"],
    }
    fields |= {"n_vocab": 32, "bins": 32, "margin": 0.005, "smallest_caught": 0.00499}
    fields |= {"alpha": 1e-7, "beta": 1e-4, "planned": 2000}
    fields |= {"backends": {"mine": outcome}, "required": {"mine": ["equivalent"]}}
    return DistributionResult.model_validate(fields | changed)


CALIBRATION = calibration(met=False)
INFO = run_info("mine", suites={"distribution/s": "0"})


def printed(folder: Path, *records: Any) -> list[str]:
    return summary_lines(read_back(folder / "b", INFO, [], records))


def written(folder: Path, *records: Any, only: str = "") -> dict[str, str]:
    """By the names of the files."""
    bundle = read_back(folder / "b", INFO, [], records)
    paths = write_report([bundle.folder], folder / "r", [only] if only else ["html", "md", "json"])
    return {path.name: path.read_text() for path in paths}


def test_a_run_of_equivalent_cells_is_ok(tmp_path: Path) -> None:
    lines = printed(tmp_path, cell("a", "equivalent", 0.5))
    assert lines[0] == "draws      mine   1/1 equivalent   1,000 draws"
    assert lines[1] == "budget   3e-07 for all that the run states, over 1 tests"
    assert lines[2] == "  a: 0.00499 over 32 bins"
    assert lines[-1].endswith("1/1 distribution tests   1.0 s   ok")


def test_what_a_backend_lacks_for_the_skipped_tests_is_said(tmp_path: Path) -> None:
    lacking = {"mine": {"decision": "skipped", "detail": "no sampler top_p"}}
    records = (cell("a", "equivalent", 0.5), cell("b", "", 1.0, backends=lacking))
    lines = printed(tmp_path, *records)
    assert "skipped  mine: no sampler top_p" in lines


def test_a_different_cell_comes_first_with_interval_and_replay(tmp_path: Path) -> None:
    records = (cell("a", "equivalent", 0.5), cell("b", "different", 1e-12))
    lines = printed(tmp_path, *records)
    assert lines[0].startswith("DIFFERENT b   mine: 0.001 [0, 0.004], margin 0.005, p = 2e-12")
    assert lines[2] == "  replay: sampler-parity run distribution/s --case b -b mine"
    assert lines[-1].endswith("FAILED")


def test_a_cell_that_the_interval_decides_shows_no_p_value_in_its_place(tmp_path: Path) -> None:
    by_interval = {"decision": "different", "draws": 9, "estimate": 0.05, "low": 0.01, "high": 0.1}
    backends = {"mine": by_interval | {"p_value": 0.00727}}
    record = cell("a", "different", 0.00727, backends=backends)
    lines = printed(tmp_path, record)
    shown = "DIFFERENT a   mine: 0.05 [0.01, 0.1], margin 0.005, decided by the interval, 9 draws"
    assert lines[0] == shown


def test_coupled_cells_come_behind_those_that_judge_any_random_numbers(tmp_path: Path) -> None:
    coupled = [cell(name, "different", 0.0, what="coupled") for name in "abcdef"]
    records = (*coupled, cell("g", "different", 1e-9))
    lines = printed(tmp_path, *records)
    shown = [line[:11] for line in lines if line.startswith("DIFFERENT")]
    assert shown == [f"DIFFERENT {name}" for name in "gabcd"]


def test_an_alarm_of_holm_alone_fails_the_report(tmp_path: Path) -> None:
    records = (cell("a", "different", 1e-12, required={"mine": ["different"]}),)
    ok = printed(tmp_path, *records)
    assert ok[-1].endswith("ok")
    more = (*records, cell("b", "equivalent", 1.5e-7))
    lines = printed(tmp_path / "c", *more)
    assert lines[0].startswith("DIFFERENT b")


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
@pytest.mark.slow
def test_every_format_says_what_was_decided(tmp_path: Path, suffix: str) -> None:
    records = (cell("the-cell", "undecided", 0.5), CALIBRATION)
    texts = written(tmp_path, *records, only=suffix[1:])
    expected = {
        "distribution": ("the-cell", "undecided"),
        "calibration": ("a fault is caught", "9 of 10 runs", "lost tail"),
    }
    for page, words in expected.items():
        text = texts[page + suffix]
        assert [word for word in words if word not in text] == []
        assert "<script>alert" not in text or suffix == ".json"


@pytest.mark.slow
def test_html_shows_the_power_curves_and_the_peers_rules(tmp_path: Path) -> None:
    text = written(tmp_path, CALIBRATION)["calibration.html"]
    assert text.count("<svg") == 1
    assert "10: 1/10; 100: 9/10" in text
    assert "7/10 (0.01)" in text


def test_junit_has_a_test_for_every_cell_and_claim(tmp_path: Path) -> None:
    records = (cell("a", "equivalent", 0.5), cell("b", "different", 1e-12), CALIBRATION)
    text, claims = written(tmp_path, *records, only="junit").values()
    assert '<testsuites name="sampler-parity" tests="2" failures="1" errors="0"' in text
    assert 'tests="1" failures="1" errors="0"' in claims
    assert 'name="b: distribution/s on mine"' in text
    assert "replay: sampler-parity run distribution/s --case b -b mine" in text


def test_a_claim_that_is_not_met_fails_the_report(tmp_path: Path) -> None:
    lines = printed(tmp_path, CALIBRATION)
    assert lines[0] == "NOT MET a fault is caught: 9 of 10 runs"
    assert lines[-1].endswith("FAILED")


def test_a_bundle_that_lost_a_cell_is_refused(tmp_path: Path) -> None:
    footer = Footer(cases=0, steps=0, wall_s=1.0, cells=2)
    create(tmp_path / "b", INFO).append(cell("a", "equivalent", 0.5), footer)
    with pytest.raises(InputError, match="holds 1 distribution tests, its footer has 2"):
        read_finished(tmp_path / "b")


@pytest.mark.slow
def test_a_bundle_of_draws_alone_has_no_page_of_cases_and_speaks_of_none(tmp_path: Path) -> None:
    texts = written(tmp_path, cell("a", "equivalent", 0.5), CALIBRATION)
    assert {name.partition(".")[0] for name in texts} == {"distribution", "calibration", "index"}
    assert not [name for name, text in texts.items() if "0/0" in text]


@pytest.mark.slow
def test_the_picture_has_a_line_for_every_test_that_is_bounded(tmp_path: Path) -> None:
    records = (cell("one", "equivalent", 0.5), cell("two", "equivalent", 0.5, margin=None))
    text = written(tmp_path, *records)["distribution.html"]
    picture = text[text.index("<svg") : text.index("</svg>")]
    assert ">one<" in picture
    assert ">two<" not in picture
