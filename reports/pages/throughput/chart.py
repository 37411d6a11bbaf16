"""Pictures of the throughput page: cost by vocabulary, tokens a second by sequences, and what the
timings detect."""

from collections import defaultdict

from sampler_parity.harness.bundle.records.timing_check import DetectionCurve, TimingCheckResult
from sampler_parity.reports.pages.throughput.model import TimedRow, WidthRow
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels
from sampler_parity.reports.pictures.picture import COLOURS

Points = dict[str, dict[str, list[tuple[float, float]]]]  # by panel and line


def by_vocabulary(rows: list[TimedRow], salt: str) -> str:
    """Return median time over V of the dearest eight chains, a panel a backend."""
    points: Points = defaultdict(lambda: defaultdict(list))
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
    shown = [
        Panel(
            name,
            [PlotLine(group, sorted(lines[group])) for group in chosen if len(lines[group]) > 1],
            y="µs a token",
        )
        for name, lines in points.items()
    ]
    return panels(shown, "vocabulary", salt)


def by_sequences(rows: list[WidthRow], salt: str) -> str:
    """Return tokens a second over sequences at once, a panel a model."""
    points: Points = defaultdict(lambda: defaultdict(list))
    for row in rows:
        line = points[row.model][f"{row.chain}, {row.backend}"]
        line.append((row.sequences, row.generation.value))
    shown = [
        Panel(
            model,
            [PlotLine(name, sorted(line)) for name, line in lines.items()][: len(COLOURS)],
            y="tokens/s",
        )
        for model, lines in points.items()
    ]
    return panels(shown, "sequences at once", salt)


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
