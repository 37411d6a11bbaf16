"""Claims of engines about their own speed, as cells: the claim, and the measurement of a bundle.

tsampler's page states: 3 to 5 ms a token, native 0.1 to 0.3 ms, 6 to 11% of the time of decoding,
which it puts at 40 ms for small models. Its vocabulary there has 65,536 tokens.
"""

from sampler_parity.reports.labels import duration
from sampler_parity.reports.pages.throughput.model import EngineClaim, TimedRow, WidthRow

TSAMPLER = "tsampler"
_CELL = "timing/usual/V65536-n64"
_DECODE_NS = 40e6


def claims(timings: list[TimedRow], widths: list[WidthRow], busy: bool) -> list[EngineClaim]:
    """Return None where tsampler was not timed. busy: other programs ran, so no time is judged."""
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
