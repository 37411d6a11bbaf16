"""parity_model.py: the JSON report and its committed schema."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_model import Report
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info


def test_json_report_reads_back_as_the_same_report(tmp_path: Path) -> None:
    cases = [case("a", {"native": got()}), case("b", {"native": diverged()})]
    report = report_of([bundle_of(tmp_path / "x", run_info("native"), cases)])
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_report_with_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Report.model_validate({"ok": True, "sections": [], "extra": 1})
