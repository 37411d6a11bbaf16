"""Builds the model of the calibration page from bundles."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.reports.pages.calibration.model import CalibrationReport, CalibrationSection


def report_of(bundles: list[Bundle]) -> CalibrationReport | None:
    """Return a section for every bundle with a calibration, its last one; None where none has
    one."""
    sections = [_section(bundle) for bundle in bundles if bundle.calibration]
    if not sections:
        return None
    return CalibrationReport(ok=all(part.ok for part in sections), sections=sections)


def _section(bundle: Bundle) -> CalibrationSection:
    result = CalibrationResult.model_validate(visible(bundle.calibration[-1].model_dump()))
    return CalibrationSection(
        bundle=visible(bundle.folder.resolve().name),
        ok=all(claim.met for claim in result.claims),
        run=RunInfo.model_validate(visible(bundle.info.model_dump())),
        result=result,
    )
