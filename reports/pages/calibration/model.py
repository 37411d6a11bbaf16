"""The model of the calibration page; reports/schemas/calibration.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.harness.strict import Strict


class CalibrationSection(Strict):
    """One bundle. ok: all that must hold of the tests does."""

    bundle: str
    ok: bool
    run: RunInfo
    result: CalibrationResult

    @property
    def met(self) -> int:
        return sum(claim.met for claim in self.result.claims)


class CalibrationReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["calibration"] = "calibration"
    ok: bool
    sections: list[CalibrationSection]
