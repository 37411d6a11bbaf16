"""Chains alone on the throughput page: the timings of each backend."""

from collections import Counter
from functools import partial

from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, tail
from sampler_parity.reports.pages.throughput import labels, model
from sampler_parity.reports.pages.throughput.chart import by_vocabulary
from sampler_parity.reports.pages.throughput.forest import ROWS, compared, ratios

UNFOLDED = 30  # rows of tables that are a screen
SORTABLE = "sortable stacked"


def timings(section: model.ThroughputSection, b: str) -> doc.InHtml:
    """Return the timings by backend: those that are compared, then the first, then the floor."""
    n, effect = len(compared(section)), f"{section.effect:.0%}"
    asks = f"A verdict asks for more than {effect} and more than the first backend's noise."
    chosen = f"The {ROWS} largest of {n}, what is decided first; the" if n > ROWS else "The"
    caption = (
        "Ratio to the time of the first backend and its 95% interval, logarithmic; the band: less "
        f"than {effect} either way. {chosen} tables below have all."
    )
    by_name: dict[str, list[model.TimedRow]] = {}
    for row in section.timings:
        by_name.setdefault(row.backend, []).append(row)
    first = {row.id: row.median_ns for row in section.timings if labels.verdict(row) == "the first"}
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
    name: str, rows: list[model.TimedRow], first: dict[str, float], few: bool
) -> tuple[bool, doc.Fold]:
    """Return whether a backend is compared, and its table."""
    is_compared = any(row.compared for row in rows)
    counted = Counter(labels.verdict(row) for row in rows)
    text = ", ".join(f"{n:,} {verdict}" for verdict, n in counted.most_common())
    text = text if is_compared else f"{len(rows):,} timings, {labels.verdict(rows[0])}"
    counts = any(row.instructions is not None for row in rows)
    caption = f"Of {name}: one application; making the candidates (set-up) is timed apart."
    if is_compared:
        caption += " Noise: of the first backend against itself."
        head = "Chain | Median | First's | Slow end | Time : first [95%] | Noise | Verdict | Set-up"
        head += " | Instructions" if counts else ""
        cells = [_compared(row, first, counts) for row in rows]
    else:
        head = "Chain | Median | Slow end | Set-up | Tokens/s"
        cells = [
            [
                *_measured(row),
                _setup(row),
                doc.sortable(f"{row.tokens_per_s:,.0f}", row.tokens_per_s),
            ]
            for row in rows
        ]
    table = doc.Table(caption, head, cells, style=SORTABLE)
    return is_compared, doc.Fold((doc.Strong(name), f": {text}"), [table], few and is_compared)


def _measured(row: model.TimedRow) -> list[doc.TableCell]:
    return [
        doc.TableCell(row.id.removeprefix("timing/")),
        doc.sortable(duration(row.median_ns), row.median_ns),
        doc.TableCell(_tail(row), key=doc.sort_key(row.p999_ns)),
    ]


def _tail(row: model.TimedRow) -> str:
    return tail(row.p99_ns, row.p999_ns, row.samples)


def _setup(row: model.TimedRow) -> doc.TableCell:
    text = "not said" if row.setup_ns is None else duration(row.setup_ns)
    return doc.sortable(text, row.setup_ns)


def _compared(row: model.TimedRow, first: dict[str, float], counts: bool) -> list[doc.TableCell]:
    chain, median, slow_end = _measured(row)
    noise = row.compared.noise if row.compared else None
    instructions = "" if row.instructions is None else f"{row.instructions:,}"
    return [
        *(chain, median, doc.num(duration(first[row.id]) if row.id in first else ""), slow_end),
        doc.sortable(labels.ratio(row.compared), row.compared.ratio if row.compared else None),
        doc.sortable("" if noise is None else f"{noise:.1%}", noise),
        doc.TableCell(labels.verdict(row), labels.tone(row)),
        _setup(row),
        *([doc.sortable(instructions, row.instructions)] if counts else []),
    ]


def every_timing(section: model.ThroughputSection, most: int) -> doc.Table:
    """Return the timings of all backends in one table, which Markdown has."""
    rows: doc.Rows = [
        [
            doc.Name(row.id.removeprefix("timing/")),
            doc.Name(row.backend),
            duration(row.median_ns),
            _tail(row),
            _setup(row),
            labels.ratio(row.compared),
            labels.verdict(row),
        ]
        for row in section.timings
    ]
    head = "Chain | Backend | p50 | Slow end | Set-up | Time : baseline [95%] | Verdict"
    return doc.Table("", head, rows, most=most)
