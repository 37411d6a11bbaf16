"""The model of the throughput page; reports/schemas/throughput.schema.json is made of it.

Times are nanoseconds of one application of a chain, or of one step of all sequences. A ratio is
time on this backend / time on the baseline of the same record, of paired rounds; above 1 is slower.
"""

import math
from typing import Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records.timing_check import TimingCheckResult
from sampler_parity.harness.checks.timing.verdict import Comparison, TimingVerdict
from sampler_parity.harness.strict import Strict


class Compared(Strict):
    """A backend compared with the baseline.

    low, high: 95% interval. noise: of the baseline compared with itself. None if there is none.
    """

    verdict: TimingVerdict
    ratio: float | None
    low: float | None
    high: float | None
    noise: float | None
    why: str


def compared(comparison: Comparison) -> Compared:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return Compared(
        verdict=comparison.verdict,
        ratio=finite(comparison.ratio),
        low=finite(comparison.low),
        high=finite(comparison.high),
        noise=comparison.noise,
        why=comparison.why,
    )


class TimedRow(Strict):
    """A chain on a backend. setup_ns: median of making the candidates, which is not in median_ns.
    compared: None on the baseline itself and on the floor, `null`."""

    id: str
    sampler: str
    n_vocab: int
    last_n: int
    masked: float
    backend: str
    samples: int
    median_ns: float
    p99_ns: int
    p999_ns: int
    setup_ns: float | None
    tokens_per_s: float
    compared: Compared | None
    instructions: int | None


class SlopeRow(Strict):
    """A cost over n_vocab (last_n being `other`), or the other way about, of the fastest samples.
    steady: it must not depend on it; finding: it does."""

    group: str
    backend: str
    over: Literal["n_vocab", "last_n"]
    other: int
    first: int
    last: int
    first_ns: float
    last_ns: float
    ns_per: float
    low: float
    high: float
    exponent: float
    steady: bool
    finding: bool


class Rate(Strict):
    """Tokens a second: median over rounds, and its 95% interval."""

    value: float
    low: float | None
    high: float | None


class OfOne(Strict):
    """The time of a sequence among others : that of one alone, median over rounds that stand next
    to each other, and its 95% interval."""

    ratio: float
    low: float | None
    high: float | None


class WidthRow(Strict):
    """A model, a chain, so many sequences at once. share: of sampling in the time of generating;
    in the graph, what the baseline's decoding alone would have saved. in_graph: stages there.
    of_one: of sampling and decoding; sample_of_one: of sampling; None: one was not measured."""

    id: str
    model: str
    n_vocab: int
    chain: str
    sequences: int
    backend: str
    in_graph: int
    stages: int
    prompt: Rate
    generation: Rate
    sample_ns: float
    decode_ns: float
    share: float | None
    of_one: OfOne | None
    sample_of_one: OfOne | None
    compared: Compared | None


class Remark(Strict):
    """A disturbance of a timing, or why there is none. more: how many others share it."""

    id: str
    more: int
    text: str


class EngineClaim(Strict):
    """A claim of an engine about itself, and the result of this bundle. holds:

    None: not measured.
    """

    claim: str
    seen: str
    holds: bool | None


class ThroughputSection(Strict):
    """One bundle. effect: the smallest share that a verdict calls slower or faster."""

    bundle: str
    run: RunInfo
    effect: float
    timings: list[TimedRow]
    slopes: list[SlopeRow]
    widths: list[WidthRow]
    claims: list[EngineClaim]
    remarks: list[Remark]
    check: TimingCheckResult | None


class ThroughputReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["throughput"] = "throughput"
    sections: list[ThroughputSection]
