"""The speed of the parity page as inline SVG: how much slower than llama.cpp the reference is."""

from sampler_parity.reports.pages.parity.model import Timing
from sampler_parity.reports.pictures.forest import ForestLine, forest
from sampler_parity.reports.pictures.picture import DOT


def marks(timings: list[Timing]) -> list[ForestLine]:
    """The reference's ratio to llama.cpp and the ratio that the rule allows, where both exist."""
    marked = []
    for row in timings:
        native = next((b.median_ns for b in row.backends if b.name == "llama.cpp"), 0.0)
        for backend in row.backends:
            if backend.name == "reference" and backend.ratio and native:
                r = backend.ratio
                limit = None if row.rule.limit_ns is None else row.rule.limit_ns / native
                low = r.value if r.low is None else r.low
                high = r.value if r.high is None else r.high
                label = f"{row.sampler} V={row.n_vocab:,}"
                marked.append(ForestLine(label, low, r.value, high, DOT, limit=limit))
    return marked


def ratios(timings: list[Timing], salt: str) -> str:
    """An <svg> element, or "" where nothing has a ratio. salt keeps its ids apart from others'."""
    return forest(marks(timings), "median of the reference / median of llama.cpp", salt)
