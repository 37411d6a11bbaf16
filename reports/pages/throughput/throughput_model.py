"""The model of the throughput page, from bundles.

Times are nanoseconds of one application of a chain, or of one step of all sequences. A ratio is
time on this backend / time on the baseline of the same record, of paired rounds; above 1 is slower.
reports/schemas/throughput.schema.json is made of ThroughputReport.
"""

import math
from collections import defaultdict
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import Result, TimingCheckResult
from sampler_parity.harness.checks.timed_records import (
    Generation,
    ThroughputOnBackend,
    ThroughputResult,
    TimingResult,
)
from sampler_parity.harness.checks.timing.slopes import Slope, notices, slopes
from sampler_parity.harness.checks.timing.verdict import (
    Comparison,
    RatioInterval,
    TimingVerdict,
    compare_backends,
    compare_rounds,
    nearest_rank,
    noise_of,
    ratio_of_rounds,
)
from sampler_parity.harness.sanitize.printable import escaped, visible
from sampler_parity.harness.strict import Strict
from sampler_parity.reports.labels import duration

TSAMPLER = "tsampler"
_CELL = "timing/usual/V65536-n64"
_DECODE_NS = 40e6
EFFECT = 0.05
FLOOR = "null"  # what it takes to do nothing: no rival
_ORDER = ("timing/engines", "timing/samplers")


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


class Rate(Strict):
    """Tokens a second: median over rounds, and its 95% interval."""

    value: float
    low: float | None
    high: float | None


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
    tokens_per_s: Rate
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


def report_of(bundles: list[Bundle], effect: float = EFFECT) -> ThroughputReport | None:
    """Return a section for every bundle that has something timed; None where none has."""
    kinds: tuple[type[Result], ...] = (TimingResult, ThroughputResult, TimingCheckResult)
    sections = [_section(bundle, effect) for bundle in bundles if any(map(bundle.of, kinds))]
    return ThroughputReport(sections=sections) if sections else None


def _section(bundle: Bundle, effect: float) -> ThroughputSection:
    timings = sorted(
        map(escaped, bundle.of(TimingResult)),
        key=lambda t: _ORDER.index(t.suite) if t.suite in _ORDER else len(_ORDER),
    )
    throughput = [*map(escaped, bundle.of(ThroughputResult))]
    checks = map(escaped, bundle.of(TimingCheckResult))
    rows = [_row(t, name, ns, effect) for t in timings for name, ns in t.ns.items() if ns]
    widths = [row for result in throughput for row in width_rows(result, effect)]
    busy = any(notice.kind == "busy" for t in timings for notice in notices(t))
    return ThroughputSection(
        bundle=visible(bundle.folder.resolve().name),
        run=escaped(bundle.info),
        effect=effect,
        timings=rows,
        slopes=[_slope_row(slope) for slope in slopes(timings)],
        widths=widths,
        claims=claims(rows, widths, busy),
        remarks=_remarks(timings, throughput),
        check=next(checks, None),
    )


def _row(result: TimingResult, name: str, ns: list[int], effect: float) -> TimedRow:
    median = float(np.median(ns))
    rounds = np.median(np.reshape(ns, (-1, result.repetitions)), axis=1).clip(min=1)
    setup = result.setup_ns.get(name)
    compares = bool(result.baseline) and name not in (result.baseline, FLOOR)
    return TimedRow(
        id=result.id,
        sampler=result.sampler,
        n_vocab=result.n_vocab,
        last_n=result.last_n,
        masked=result.masked,
        backend=name,
        samples=len(ns),
        median_ns=median,
        p99_ns=nearest_rank(ns, 0.99),
        p999_ns=nearest_rank(ns, 0.999),
        setup_ns=float(np.median(setup)) if setup else None,
        tokens_per_s=_rate(rounds, 1),
        compared=compared(compare_backends(result, name, effect)) if compares else None,
        instructions=result.instructions.get(name),
    )


def _slope_row(slope: Slope) -> SlopeRow:
    same = ("group", "backend", "over", "other", "ns_per", "low", "high", "exponent", "steady")
    return SlopeRow(
        first=slope.points[0],
        last=slope.points[-1],
        first_ns=slope.fastest_ns[0],
        last_ns=slope.fastest_ns[-1],
        **{name: getattr(slope, name) for name in (*same, "finding")},
    )


def _remarks(timings: list[TimingResult], throughput: list[ThroughputResult]) -> list[Remark]:
    """Return what disturbed a timing, and what did not run; a text that several share stands
    once."""
    remarks = [(notice.text, t.id) for t in timings for notice in notices(t)]
    for t in timings:
        remarks += [(f"{name}: {why}", t.id) for name, why in (t.failed | t.uncounted).items()]
    for w in throughput:
        remarks += [(f"{name}: {b.failed}", w.id) for name, b in w.backends.items() if b.failed]
        remarks += [(f"{name}: {b.parted}", w.id) for name, b in w.backends.items() if b.parted]
    places: dict[str, list[str]] = defaultdict(list)
    for text, i in remarks:
        places[text].append(i)
    return [Remark(id=ids[0], more=len(ids) - 1, text=text) for text, ids in places.items()]


Rounds = NDArray[np.float64]


def width_rows(result: ThroughputResult, effect: float) -> list[WidthRow]:
    return [
        _width_row(result, name, backend, effect)
        for name, backend in result.backends.items()
        if backend.rounds
    ]


def _width_row(
    result: ThroughputResult, name: str, backend: ThroughputOnBackend, effect: float
) -> WidthRow:
    sample, decode = _sampled(backend.rounds), _decoded(backend.rounds)
    prompt = np.array([r.prompt_ns for r in backend.rounds], float)
    generated, read = result.sequences * result.n_tokens, result.sequences * result.n_prompt
    return WidthRow(
        id=result.id,
        model=result.model,
        n_vocab=result.n_vocab,
        chain=result.chain,
        sequences=result.sequences,
        backend=name,
        in_graph=backend.in_graph,
        stages=result.stages,
        prompt=_rate(prompt, read),
        generation=_rate(sample + decode, generated),
        sample_ns=float(np.median(sample)) / result.n_tokens,
        decode_ns=float(np.median(decode)) / result.n_tokens,
        share=_share(result, backend, sample, decode),
        of_one=_of_one(result, sample + decode, _sampled(backend.alone) + _decoded(backend.alone)),
        sample_of_one=_of_one(result, sample, _sampled(backend.alone)),
        compared=None
        if name == result.baseline
        else _generation_compared(result, sample + decode, effect),
    )


def _sampled(rounds: list[Generation]) -> Rounds:
    return np.array([sum(r.sample_ns) for r in rounds], float)


def _decoded(rounds: list[Generation]) -> Rounds:
    return np.array([sum(r.decode_ns) for r in rounds], float)


def _rate(ns: Rounds, tokens: int) -> Rate:
    """Return the rate of rounds that made so many tokens each."""
    interval = ratio_of_rounds(np.full(len(ns), 1e9 * tokens), ns)
    if interval is None:
        return Rate(value=0.0, low=None, high=None)
    low, high = _bounds(interval)
    return Rate(value=interval.ratio, low=low, high=high)


def _of_one(result: ThroughputResult, together: Rounds, alone: Rounds) -> OfOne | None:
    """Return the time of a sequence of many, as a share of one alone."""
    interval = ratio_of_rounds(together / result.sequences, alone)
    if interval is None:
        return None
    low, high = _bounds(interval)
    return OfOne(ratio=interval.ratio, low=low, high=high)


def _bounds(interval: RatioInterval) -> tuple[float | None, float | None]:
    """Return the bounds of an interval; None where it has no upper bound."""
    return (interval.low, interval.high) if math.isfinite(interval.high) else (None, None)


def _share(
    result: ThroughputResult, backend: ThroughputOnBackend, sample: Rounds, decode: Rounds
) -> float | None:
    """Return the share of sampling. In the graph, sampling is the time above the baseline's
    decoding."""
    total = sample + decode
    if not backend.in_graph:
        return float(np.median(sample / total))
    first = result.backends[result.baseline]
    if first.in_graph or len(first.rounds) != len(total):
        return None
    return float(np.median((total - _decoded(first.rounds)) / total))


def _generation_compared(result: ThroughputResult, total: Rounds, effect: float) -> Compared:
    first, repeated = result.backends[result.baseline].rounds, result.again.rounds
    baseline = _sampled(first) + _decoded(first)
    noise = noise_of(baseline, _sampled(repeated) + _decoded(repeated))
    return compared(compare_rounds(total, baseline, noise, effect))


def claims(timings: list[TimedRow], widths: list[WidthRow], busy: bool) -> list[EngineClaim]:
    """Return claims of engines about their own speed; none where tsampler was not timed.

    tsampler's page states: 3 to 5 ms a token, native 0.1 to 0.3 ms, 6 to 11% of the time of
    decoding, which it puts at 40 ms for small models. Its vocabulary there has 65,536 tokens.
    busy: other programs ran, so no time is judged.
    """
    stated = _claims(timings, widths)
    if not busy:
        return stated
    why = "; not judged, because other programs ran"
    return [c.model_copy(update={"seen": c.seen + why, "holds": None}) for c in stated]


def _claims(timings: list[TimedRow], widths: list[WidthRow]) -> list[EngineClaim]:
    medians = {row.backend: row.median_ns for row in timings if row.id == _CELL}
    if TSAMPLER not in medians:
        return []
    ours, native = medians[TSAMPLER], medians.get("llama.cpp")
    share = ours / _DECODE_NS
    of_timings = [
        _within("tsampler takes 3 to 5 ms a token at V = 65,536", ours, 3e6, 5e6),
        _within("llama.cpp's native chain takes 0.1 to 0.3 ms there", native, 1e5, 3e5),
        EngineClaim(
            claim="tsampler takes 6 to 11% of the time of decoding, 40 ms a token",
            seen=f"{share:.2%} of 40 ms",
            holds=0.06 <= share <= 0.11,
        ),
    ]
    measured = [w for w in widths if w.sequences == 1 and not w.in_graph]
    return of_timings + [
        EngineClaim(
            claim=f"the same, next to decoding {row.model} as measured here",
            seen=f"{ours / row.decode_ns:.1%} of {duration(row.decode_ns)}",
            holds=None,
        )
        for row in measured
        if row.chain == "default"
    ]


def _within(claim: str, ns: float | None, low: float, high: float) -> EngineClaim:
    if ns is None:
        return EngineClaim(claim=claim, seen="not timed", holds=None)
    return EngineClaim(claim=claim, seen=duration(ns), holds=low <= ns <= high)
