"""The records of timed checks, one line of JSON each: a chain on every backend, tokens a second of
a chain on a model, and the skip ratio of a workload."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.protocol.measured import OfTrie
from sampler_parity.harness.strict import Strict, StrictFigures


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


class Generation(Strict):
    """One generation, in nanoseconds."""

    prompt_ns: int
    """nanoseconds for the prompts"""
    sample_ns: list[int]
    """nanoseconds of sampling in each step, all sequences together"""
    decode_ns: list[int]
    """nanoseconds of decoding in each step, all sequences together"""


class ThroughputOnBackend(Strict):
    """The generations of one backend."""

    rounds: list[Generation] = []
    """one generation for each round; round i runs on all backends in turn"""
    alone: list[Generation] = []
    """the same rounds with one sequence"""
    in_graph: int = 0
    """how many stages of the chain ran in the model's graph"""
    text_sha256: str = ""
    parted: str = ""
    """first difference between sequences or rounds that must be equal"""
    failed: str = ""


class ThroughputResult(Result):
    """Generations of one chain on one model, on every backend."""

    kind: Literal["throughput"] = "throughput"
    suite: str = ""
    model: str
    n_vocab: int
    chain: str
    """name of the chain"""
    stages: int
    """number of stages"""
    sequences: int
    """sequences at once"""
    n_prompt: int
    """prompt tokens of each sequence"""
    n_tokens: int
    """generated tokens of each sequence"""
    backends: dict[str, ThroughputOnBackend]
    baseline: str
    """backend that the others are compared with"""
    again: ThroughputOnBackend = ThroughputOnBackend()
    """a second process of the baseline, timed in the same rounds"""

    @model_validator(mode="after")
    def _has_the_baseline(self) -> "ThroughputResult":
        if self.baseline not in self.backends:
            raise ValueError(f"baseline: no measurement of {self.baseline!r}")
        return self


class Check(StrictFigures):
    """A check of a figure. what: the figure; relation: it must equal the limit, or be at least or
    at most it."""

    what: str
    """the figure"""
    found: float
    """its value"""
    relation: Literal["=", ">=", "<="]
    """how it must compare with the limit"""
    limit: float
    """the limit"""

    @property
    def met(self) -> bool:
        if self.relation == "=":
            return self.found == self.limit
        return self.found >= self.limit if self.relation == ">=" else self.found <= self.limit


class SkipRatioResult(StrictFigures, Result):
    """A workload on a backend."""

    kind: Literal["skip_ratio"] = "skip_ratio"
    suite: str = ""
    workload: str
    """id of the workload"""
    backend: str
    """the backend"""
    model: str
    """the model"""
    leaves: str
    """the set of leaves"""
    prompts: int
    """number of prompts"""
    rounds: int
    """number of rounds"""
    delay_ms: float = 0.0
    """milliseconds added to each forward pass"""
    seed: int
    verdict: Literal["measured", "unsupported", "rejected", "crashed", "timeout"]
    """whether it was measured"""
    detail: str = ""
    measured: OfTrie | None = None
    """the figures, as in `Measured` of harness/schemas/protocol.schema.json"""
    checks: list[Check] = []
    """checks of the suite"""
    wall_s: float = 0.0

    @property
    def skip_ratio_mean(self) -> float | None:
        return None if self.measured is None else self.measured.skip_ratio_mean

    @property
    def ok(self) -> bool:
        """Whether it was measured and every check is met; False without a check."""
        return self.measured is not None and bool(self.checks) and all(c.met for c in self.checks)


def skip_ratios_unmet(results: Sequence[SkipRatioResult]) -> list[SkipRatioResult]:
    """Return the results that are not as required. Unsupported ones were skipped, unless all
    were."""
    judged = [result for result in results if result.verdict != "unsupported"]
    return [result for result in judged or results if not result.ok]
