"""What a run of distribution tests records: one line of JSON a cell."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Decision = Literal[
    "equivalent", "different", "undecided", "unsupported", "rejected", "crashed", "timeout"
]
Kind = Literal["frequency", "coupled", "tail", "independence", "injected"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CellOnBackend(_Record):
    """estimate, low, high: of the quantity that the cell bounds (docs/statistics.md), at its alpha.

    p_value: corrected for the tests within the cell; tests: each of them, corrected for nothing.
    decision: before Holm's correction over the run, see `decisions`.
    """

    decision: Decision
    draws: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    tests: dict[str, float] = {}
    detail: str = ""
    ns: int = 0
    wall_s: float = 0.0


class DistributionResult(_Record):
    """A cell on every backend. bins: 0 where it bounds all tokens. smallest_caught: the smallest
    value of the bounded quantity that the planned draws catch, with probability 1 - beta."""

    kind: Literal["distribution"] = "distribution"
    id: str
    suite: str = ""
    what: Kind
    samplers: list[str]
    n_vocab: int
    bins: int = 0
    margin: float | None = None
    alpha: float
    beta: float
    planned: int
    smallest_caught: float | None = None
    refusal: str = ""
    backends: dict[str, CellOnBackend]
    required: dict[str, list[Decision]]


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
