"""What `sampler-parity calibrate` measured of the distribution tests: one line of JSON."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class Curve(Strict):
    """The chance that a fault is caught, by number of draws: caught[i] of runs at draws[i]."""

    fault: str
    tv: float | None
    draws: list[int]
    caught: list[int]
    runs: int

    @model_validator(mode="after")
    def _is_a_curve(self) -> "Curve":
        if len(self.draws) != len(self.caught) or self.runs < 1:
            raise ValueError("as many of caught as of draws, and a run at least")
        return self


class Claim(Strict):
    """Something that must hold of the tests themselves, and what the simulation showed."""

    text: str
    seen: str
    met: bool


class PeerRow(Strict):
    """How many of so many runs of a fault a published pass rule lets through."""

    fault: str
    tv: dict[str, float]
    passed: dict[str, int]
    runs: dict[str, int]

    @model_validator(mode="after")
    def _one_of_each(self) -> "PeerRow":
        if not self.tv.keys() == self.passed.keys() == self.runs.keys():
            raise ValueError("tv, passed and runs are not of the same rules")
        return self


class CalibrationResult(Strict):
    """What `sampler-parity calibrate` measured: null runs, power curves, peers' rules."""

    kind: Literal["calibration"] = "calibration"
    id: Literal["calibration"] = "calibration"
    seed: int
    alpha: float
    claims: list[Claim]
    curves: dict[str, list[Curve]]
    peers: list[PeerRow]
    wall_s: float

    @model_validator(mode="after")
    def _of_the_same_rules(self) -> "CalibrationResult":
        if any(row.passed.keys() != self.peers[0].passed.keys() for row in self.peers):
            raise ValueError("peers are not of the same rules")
        return self
