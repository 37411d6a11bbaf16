"""Measurements of the distribution tests by `sampler-parity calibrate`: one line of JSON."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.strict import Strict


class Curve(Strict):
    """The chance that a fault is caught, by number of draws: caught[i] of runs at draws[i]."""

    fault: str
    """the planted fault"""
    tv: float | None
    """its total variation"""
    draws: list[int]
    """numbers of draws"""
    caught: list[int]
    """how many runs caught it, by number of draws"""
    runs: int
    """number of runs"""

    @model_validator(mode="after")
    def _is_a_curve(self) -> "Curve":
        if len(self.draws) != len(self.caught) or self.runs < 1:
            raise ValueError("caught and draws must be equally long, and runs at least 1")
        return self


class Claim(Strict):
    """A property that the tests themselves must have, and what the simulation showed."""

    text: str
    """the claim"""
    seen: str
    """the result of the simulation"""
    met: bool
    """whether the claim holds"""


class PeerRow(Strict):
    """How many of so many runs of a fault a published pass rule lets through."""

    fault: str
    """the planted fault"""
    tv: dict[str, float]
    """total variation, by rule"""
    passed: dict[str, int]
    """how many runs the rule let pass"""
    runs: dict[str, int]
    """number of runs, by rule"""

    @model_validator(mode="after")
    def _one_of_each(self) -> "PeerRow":
        if not self.tv.keys() == self.passed.keys() == self.runs.keys():
            raise ValueError("tv, passed and runs are not of the same rules")
        return self


class CalibrationResult(Result):
    """Measurements of `sampler-parity calibrate`: null runs, power curves, peers' rules."""

    kind: Literal["calibration"] = "calibration"
    id: Literal["calibration"] = "calibration"
    seed: int
    alpha: float
    """error rate that the tests state"""
    claims: list[Claim]
    """claims about the tests"""
    curves: dict[str, list[Curve]]
    """power curves by test"""
    peers: list[PeerRow]
    """published pass rules on the same faults"""
    wall_s: float

    @model_validator(mode="after")
    def _of_the_same_rules(self) -> "CalibrationResult":
        if any(row.passed.keys() != self.peers[0].passed.keys() for row in self.peers):
            raise ValueError("peers are not of the same rules")
        return self
