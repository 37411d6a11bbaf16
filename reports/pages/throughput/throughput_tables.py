"""Tables and pictures of the throughput page: the timings of each backend, and labels."""

import math
from collections import Counter, defaultdict
from functools import partial

from sampler_parity.harness.bundle.records import DetectionCurve, TimingCheckResult
from sampler_parity.harness.checks.timing.verdict import TimingVerdict
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import Tone
from sampler_parity.reports.labels import duration, interval, tail
from sampler_parity.reports.pages.throughput.throughput_model import (
    FLOOR,
    Compared,
    OfOne,
    Rate,
    Remark,
    SlopeRow,
    ThroughputSection,
    TimedRow,
    WidthRow,
)
from sampler_parity.reports.pictures.picture import (
    BAD,
    COLOURS,
    DOT,
    GOOD,
    ForestLine,
    Panel,
    PlotLine,
    forest,
    panels,
)

ROWS = 24  # of a picture: the largest ratios, either way; the tables have all
_COLOUR: dict[TimingVerdict, str] = {
    "slower": BAD,
    "faster": GOOD,
    "same-within": DOT,
    "inconclusive": COLOURS[5],
}
UNFOLDED = 30  # rows of tables that are a screen
SORTABLE = "sortable stacked"


def verdict_of(row: TimedRow) -> str:
    """Return the verdict of a timing; of one that is not compared, what it is there for."""
    if row.compared:
        return row.compared.verdict
    return "floor" if row.backend == FLOOR else "the first"


def tone_of(row: TimedRow | WidthRow) -> Tone:
    """Return the colour of a verdict."""
    tones: dict[str, Tone] = {"slower": "bad", "faster": "good", "same-within": "good"}
    return tones.get(row.compared.verdict, "quiet") if row.compared else "quiet"


def more_text(remark: Remark) -> str:
    """Return how many others share a remark."""
    return f" and {remark.more:,} more" if remark.more else ""


def ratio_text(compared: Compared | OfOne | None) -> str:
    """Return "1.23 [1.2, 1.26]"; "" on the baseline."""
    if compared is None:
        return ""
    return interval(compared.ratio, compared.low, compared.high) or "none"


def rate_text(tokens_per_s: Rate) -> str:
    """Return tokens a second with their interval."""
    text = f"{tokens_per_s.value:,.0f}"
    if tokens_per_s.low is None or tokens_per_s.high is None:
        return text
    return f"{text} [{tokens_per_s.low:,.0f}, {tokens_per_s.high:,.0f}]"


def share_text(value: float | None) -> str:
    """Return the share of sampling; in the graph it is a difference, and below 0 it is noise."""
    if value is None:
        return "not measured"
    return f"{value:.1%}" if value >= 0 else "less than the noise"


def growth_text(slope: SlopeRow) -> str:
    """Return what a cost grows with."""
    over, fixed = (
        ("vocabulary", "history") if slope.over == "n_vocab" else ("history", "vocabulary")
    )
    text = f"{duration(slope.first_ns)} at {slope.first:,}, {duration(slope.last_ns)} at"
    text += f" {slope.last:,}: grows with the {over} ({fixed} {slope.other:,}), as its power"
    return f"{text} {slope.exponent:.2f}" + (", and must not" if slope.finding else "")


_Points = dict[str, dict[str, list[tuple[float, float]]]]  # by panel and line


def by_vocabulary(rows: list[TimedRow], salt: str) -> str:
    """Return median time over V of the dearest eight chains, a panel a backend."""
    points: _Points = defaultdict(lambda: defaultdict(list))
    for row in rows:
        group = row.id.removeprefix("timing/").split("/")[0]
        if not row.masked and row.last_n in (0, 64) and row.backend != "null":
            points[row.backend][group].append((row.n_vocab, row.median_ns / 1e3))
    dearest: dict[str, float] = defaultdict(float)
    for lines in points.values():
        for group, line in lines.items():
            if len(line) > 1:
                dearest[group] = max(dearest[group], max(line)[1])
    chosen = sorted(dearest, key=lambda group: -dearest[group])[: len(COLOURS)]
    plots = [
        Panel(
            name,
            [PlotLine(group, sorted(lines[group])) for group in chosen if len(lines[group]) > 1],
            y="µs a token",
        )
        for name, lines in points.items()
    ]
    return panels(plots, "vocabulary", salt)


def by_sequences(rows: list[WidthRow], salt: str) -> str:
    """Return tokens a second over sequences at once, a panel a model."""
    points: _Points = defaultdict(lambda: defaultdict(list))
    for row in rows:
        line = points[row.model][f"{row.chain}, {row.backend}"]
        line.append((row.sequences, row.generation.value))
    plots = [
        Panel(
            model,
            [PlotLine(name, sorted(line)) for name, line in lines.items()][: len(COLOURS)],
            y="tokens/s",
        )
        for model, lines in points.items()
    ]
    return panels(plots, "sequences at once", salt)


def detection(check: TimingCheckResult, salt: str) -> str:
    """Return the share of trials called slower over the time measured, a line a slow-down."""
    title = f"called slower by more than {check.effect:.0%}"
    lines = [_detected(curve) for curve in check.curves]
    panel = Panel(title, lines, y="share of trials", log="x", share=True)
    return panels([panel], "seconds measured", salt)


def _detected(curve: DetectionCurve) -> PlotLine:
    """Return the share that is detected. If llama.cpp is compared with itself, each verdict is a
    false alarm."""
    label = f"{curve.percent:g}% slower" if curve.percent else "A/A (alarms)"
    called = [
        slower + (0 if curve.percent else faster)
        for slower, faster in zip(curve.slower, curve.faster, strict=True)
    ]
    shares = [n / curve.trials for n in called]
    return PlotLine(label, [*zip(curve.seconds, shares, strict=True)])


def compared_lines(section: ThroughputSection) -> list[ForestLine]:
    """Return the backends with a ratio and its interval: decided ones first, then the largest
    ratio.
    """
    several = len({row.backend for row in section.timings if row.compared}) > 1
    lines = [
        ForestLine(
            f"{row.id.removeprefix('timing/')}{f' {row.backend}' if several else ''}",
            c.low,
            c.ratio,
            c.high,
            _COLOUR[c.verdict],
            c.verdict,
        )
        for row in section.timings
        if (c := row.compared) and c.ratio and c.low is not None and c.high is not None
    ]
    decided = ("slower", "faster")
    return sorted(lines, key=lambda x: (x.kind not in decided, -abs(math.log(x.value or 1))))


def ratios(section: ThroughputSection, salt: str) -> str:
    """Return an <svg> element, or "" if nothing is compared."""
    lines = sorted(compared_lines(section)[:ROWS], key=lambda line: -(line.value or 1))
    within = (1 / (1 + section.effect), 1 + section.effect)
    return forest(lines, "time / time of the first backend", salt, within)


def timings(section: ThroughputSection, b: str) -> doc.InHtml:
    """Return the timings by backend: those that are compared, then the first, then the floor."""
    n, effect = len(compared_lines(section)), f"{section.effect:.0%}"
    asks = f"A verdict asks for more than {effect} and more than the first backend's noise."
    chosen = f"The {ROWS} largest of {n}, what is decided first; the" if n > ROWS else "The"
    caption = (
        "Ratio to the time of the first backend and its 95% interval, logarithmic; the band: less "
        f"than {effect} either way. {chosen} tables below have all."
    )
    by_name: dict[str, list[TimedRow]] = {}
    for row in section.timings:
        by_name.setdefault(row.backend, []).append(row)
    first = {row.id: row.median_ns for row in section.timings if verdict_of(row) == "the first"}
    few = len(section.timings) <= UNFOLDED
    folds = [_backend(name, rows, first, few) for name, rows in by_name.items()]
    sizes = doc.Picture(
        "Chart of the time by vocabulary size",
        "Median time of one application by vocabulary size, of the eight dearest chains; both axes "
        "logarithmic. The tables above have the figures.",
        partial(by_vocabulary, section.timings),
    )
    return doc.InHtml(
        [
            doc.Heading(3, "Chains alone", f"{b}-timings"),
            doc.Paragraph(asks),
            doc.Picture("Chart of the ratios", caption, partial(ratios, section)),
            *(fold for is_compared, fold in folds if is_compared),
            *(fold for is_compared, fold in folds if not is_compared),
            doc.Fold("Time by vocabulary size", [sizes]),
        ]
    )


def _backend(
    name: str, rows: list[TimedRow], first: dict[str, float], few: bool
) -> tuple[bool, doc.Fold]:
    """Return whether a backend is compared, and its table."""
    is_compared = any(row.compared for row in rows)
    counted = Counter(verdict_of(row) for row in rows)
    text = ", ".join(f"{n:,} {verdict}" for verdict, n in counted.most_common())
    text = text if is_compared else f"{len(rows):,} timings, {verdict_of(rows[0])}"
    counts = any(row.instructions is not None for row in rows)
    caption = f"Of {name}: one application; making the candidates (set-up) is timed apart."
    if is_compared:
        caption += " Noise: of the first backend against itself."
        head = "Chain | Median | First's | Slow end | Time : first [95%] | Noise | Verdict | Set-up"
        head += " | Instructions" if counts else ""
        cells = [_compared(row, first, counts) for row in rows]
    else:
        head = "Chain | Median | Slow end | Set-up | Tokens/s [95%]"
        cells = [
            [
                *_measured(row),
                _setup(row),
                doc.sortable(rate_text(row.tokens_per_s), row.tokens_per_s.value),
            ]
            for row in rows
        ]
    table = doc.Table(caption, head, cells, style=SORTABLE)
    return is_compared, doc.Fold((doc.Strong(name), f": {text}"), [table], few and is_compared)


def _measured(row: TimedRow) -> list[doc.TableCell]:
    return [
        doc.TableCell(row.id.removeprefix("timing/")),
        doc.sortable(duration(row.median_ns), row.median_ns),
        doc.TableCell(_tail(row), key=doc.sort_key(row.p999_ns)),
    ]


def _tail(row: TimedRow) -> str:
    return tail(row.p99_ns, row.p999_ns, row.samples)


def _setup(row: TimedRow) -> doc.TableCell:
    text = "not said" if row.setup_ns is None else duration(row.setup_ns)
    return doc.sortable(text, row.setup_ns)


def _compared(row: TimedRow, first: dict[str, float], counts: bool) -> list[doc.TableCell]:
    chain, median, slow_end = _measured(row)
    noise = row.compared.noise if row.compared else None
    instructions = "" if row.instructions is None else f"{row.instructions:,}"
    return [
        *(chain, median, doc.num(duration(first[row.id]) if row.id in first else ""), slow_end),
        doc.sortable(ratio_text(row.compared), row.compared.ratio if row.compared else None),
        doc.sortable("" if noise is None else f"{noise:.1%}", noise),
        doc.TableCell(verdict_of(row), tone_of(row)),
        _setup(row),
        *([doc.sortable(instructions, row.instructions)] if counts else []),
    ]


def every_timing(section: ThroughputSection, most: int) -> doc.Table:
    """Return the timings of all backends in one table, which Markdown has."""
    rows: doc.Rows = [
        [
            doc.Name(row.id.removeprefix("timing/")),
            doc.Name(row.backend),
            duration(row.median_ns),
            _tail(row),
            _setup(row),
            ratio_text(row.compared),
            verdict_of(row),
        ]
        for row in section.timings
    ]
    head = "Chain | Backend | p50 | Slow end | Set-up | Time : baseline [95%] | Verdict"
    return doc.Table("", head, rows, most=most)
