"""A chain timed on every backend: one line of JSON."""

from typing import Literal

from pydantic import Field

from sampler_parity.harness.strict import Strict


class Conditions(Strict):
    """What a timing was taken under. cpu: the one that all backends were pinned to; mhz: its
    frequency before each round. Where there is none, unpinned and no_mhz say why. load: programs
    that wanted to run, the average of a minute, for each processor; None: not known."""

    cpu: int | None = None
    load: float | None = None
    unpinned: str = ""
    mhz: list[float] = []
    no_mhz: str = ""


class TimingResult(Strict):
    """Interleaved timings of one chain: nanoseconds of every repetition, by backend.

    repetitions: samples a round; those of round i are ns[i * repetitions : (i + 1) * repetitions].
    baseline: the backend that the others are compared with; again: a second process of it, timed
    in the same rounds (checks/timing/verdict.py takes the noise from them). setup_ns: making the
    candidates, which is not in ns. failed: why a backend has no samples.
    group, last_n, masked: a point of one cost over n_vocab and last_n (checks/timing/slopes.py).
    steady: what the cost of this group must not depend on.
    instructions: of one application, by backend; uncounted: why there are none.
    """

    kind: Literal["timing"] = "timing"
    id: str
    suite: str = ""
    sampler: str
    n_vocab: int
    repetitions: int = Field(default=1, ge=1)
    ns: dict[str, list[int]]
    baseline: str = ""
    again: list[int] = []
    setup_ns: dict[str, list[int]] = {}
    failed: dict[str, str] = {}
    group: str = ""
    last_n: int = 0
    masked: float = 0.0
    steady: list[Literal["n_vocab", "last_n"]] = []
    instructions: dict[str, int] = {}
    uncounted: dict[str, str] = {}
    conditions: Conditions = Conditions()
