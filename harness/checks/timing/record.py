"""A chain timed on every backend: one line of JSON."""

from typing import Literal

from pydantic import Field

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.strict import Strict


class Conditions(Strict):
    """The conditions of a timing."""

    cpu: int | None = None
    """processor that all backends were pinned to"""
    load: float | None = None
    """running programs for each processor, average of a minute; null: unknown"""
    unpinned: str = ""
    """why the backends were not pinned"""
    mhz: list[float] = []
    """frequency of the processor before each round"""
    no_mhz: str = ""
    """why there is no frequency"""


class TimingResult(Result):
    """Interleaved timings of one chain, by backend."""

    kind: Literal["timing"] = "timing"
    id: str
    suite: str = ""
    sampler: str
    """the sampler that the figure is about"""
    n_vocab: int
    repetitions: int = Field(default=1, ge=1)
    """samples of a round; round i is `ns[i * repetitions : (i + 1) * repetitions]`"""
    ns: dict[str, list[int]]
    """nanoseconds of every repetition, by backend"""
    baseline: str = ""
    """backend that the others are compared with"""
    again: list[int] = []
    """a second process of the baseline, timed in the same rounds"""
    setup_ns: dict[str, list[int]] = {}
    """nanoseconds of making the candidates, not part of `ns`"""
    failed: dict[str, str] = {}
    """why a backend has no samples"""
    group: str = ""
    """chain whose cost this is a point of"""
    last_n: int = 0
    """length of the history"""
    masked: float = 0.0
    """share of the tokens at -inf"""
    steady: list[Literal["n_vocab", "last_n"]] = []
    """sizes that the cost must not depend on"""
    instructions: dict[str, int] = {}
    """instructions of one application, by backend"""
    uncounted: dict[str, str] = {}
    """why there are no instructions"""
    conditions: Conditions = Conditions()
    """conditions of the timing"""
