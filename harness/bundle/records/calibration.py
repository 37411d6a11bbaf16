"""What `sampler-parity calibrate` measured of the distribution tests: one line of JSON."""

from typing import Literal

from pydantic import BaseModel

from sampler_parity.harness.strict import STRICT


class _Record(BaseModel):
    model_config = STRICT


class Curve(_Record):
    """The chance that a fault is caught, by number of draws: caught[i] of runs at draws[i]."""

    fault: str
    tv: float | None
    draws: list[int]
    caught: list[int]
    runs: int


class Claim(_Record):
    """Something that must hold of the tests themselves, and what the simulation showed."""

    text: str
    seen: str
    met: bool


class PeerRow(_Record):
    """How many of so many runs of a fault a published pass rule lets through."""

    fault: str
    tv: dict[str, float]
    passed: dict[str, int]
    runs: dict[str, int]


class CalibrationResult(_Record):
    """What `sampler-parity calibrate` measured: null runs, power curves, peers' rules."""

    kind: Literal["calibration"] = "calibration"
    id: Literal["calibration"] = "calibration"
    seed: int
    alpha: float
    claims: list[Claim]
    curves: dict[str, list[Curve]]
    peers: list[PeerRow]
    wall_s: float
