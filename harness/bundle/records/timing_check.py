"""What `sampler-parity timing-selfcheck` records: how often timings mislead, what they catch."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class DetectionCurve(Strict):
    """A slow-down, of 0 for A/A, by number of rounds: of `trials`, how many were called slower,
    faster and inconclusive, and how often the interval left 1 out. seconds: a comparison's median
    time of samples and their set-up: ours, the baseline, and the baseline again."""

    percent: float
    rounds: list[int]
    seconds: list[float]
    slower: list[int]
    faster: list[int]
    inconclusive: list[int]
    off_one: list[int]
    trials: int

    @model_validator(mode="after")
    def _is_a_curve(self) -> "DetectionCurve":
        columns = (self.seconds, self.slower, self.faster, self.inconclusive, self.off_one)
        if any(len(column) != len(self.rounds) for column in columns) or self.trials < 1:
            raise ValueError("as many of each as of rounds, and a trial at least")
        return self


class TimingCheckResult(Strict):
    """effect: the smallest share that a verdict calls slower. alarm_rate: what is stated of A/A.

    noise: of each trial, at most rounds. met: the alarms at every number of rounds are within the
    stated rate.
    """

    kind: Literal["timing_check"] = "timing_check"
    id: Literal["timing_check"] = "timing_check"
    chain: str
    n_vocab: int
    effect: float
    alarm_rate: float
    curves: list[DetectionCurve]
    noise: list[float]
    met: bool
    seed: int
    wall_s: float
