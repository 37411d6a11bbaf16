"""Measurements of `sampler-parity timing-selfcheck`: how often timings mislead, what they catch."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.strict import Strict


class DetectionCurve(Strict):
    """A slow-down (0 for A/A) by number of rounds. slower, faster, inconclusive: how many of
    `trials` had this verdict. off_one: how often the interval left 1 out. seconds: a comparison's
    median time of samples and their set-up: ours, the baseline, and the baseline again."""

    percent: float
    """the slow-down; 0 is A/A"""
    rounds: list[int]
    """numbers of rounds"""
    seconds: list[float]
    """median seconds of a comparison"""
    slower: list[int]
    """how many trials were called slower"""
    faster: list[int]
    """how many trials were called faster"""
    inconclusive: list[int]
    """how many trials were inconclusive"""
    off_one: list[int]
    """how often the interval left out 1"""
    trials: int
    """number of trials"""

    @model_validator(mode="after")
    def _is_a_curve(self) -> "DetectionCurve":
        columns = (self.seconds, self.slower, self.faster, self.inconclusive, self.off_one)
        if any(len(column) != len(self.rounds) for column in columns) or self.trials < 1:
            raise ValueError("all lists must be as long as rounds, and trials at least 1")
        return self


class TimingCheckResult(Result):
    """effect: the smallest share that a verdict calls slower. alarm_rate: the stated rate of A/A.

    noise: of each trial, at most rounds. met: the alarms at every number of rounds are within the
    stated rate.
    """

    kind: Literal["timing_check"] = "timing_check"
    id: Literal["timing_check"] = "timing_check"
    chain: str
    """the timed chain"""
    n_vocab: int
    effect: float
    """smallest share that a verdict calls slower"""
    alarm_rate: float
    """stated rate of false alarms"""
    curves: list[DetectionCurve]
    """one curve for each slow-down"""
    noise: list[float]
    """noise of each trial, at the largest number of rounds"""
    met: bool
    """whether false alarms stay within the stated rate"""
    seed: int
    wall_s: float
