"""The pictures of the skip-ratio page: the tables next to them have the figures."""

from sampler_parity.reports.pages.skip_ratio.model import SkipRatioRow
from sampler_parity.reports.pictures.lines import Panel, PlotLine, panels

LINES = 6  # of the picture over decode times
OVER = "tokens/s over grammar first"


def by_leaves(rows: list[SkipRatioRow], salt: str) -> str:
    """Return, of enumerations, by their number of leaves, what the trie leaves of the vocabulary
    and its speed-up, a line for each vocabulary and backend."""
    lines: dict[str, list[SkipRatioRow]] = {}
    for row in rows:
        if row.leaves.startswith("enum:") and not row.delay_ms:
            lines.setdefault(f"V={_vocab(row):,} {row.backend}", []).append(row)
    left, speed = [], []
    for label, of_label in lines.items():
        points = sorted((m for row in of_label if (m := row.measured)), key=lambda m: m.leaves)
        left.append(PlotLine(label, [(m.leaves, 1 - m.skip_ratio_mean) for m in points]))
        speeds = [(m.leaves, m.tokens_per_second_vs_grammar) for m in points]
        intervals = [m.tokens_per_second_vs_grammar_ci95 for m in points]
        speed.append(PlotLine(label, speeds, intervals))
    shown = [Panel("", left, y="share of V that is left"), Panel("", speed, y=OVER, level=1)]
    return panels(shown, "leaves", salt)


def by_decode(rows: list[SkipRatioRow], salt: str) -> str:
    """Return the modelled speed-up over decode times, with what was measured as dots."""
    shown = [r for r in rows if r.measured and r.measured.modelled.by_decode_ms]
    texts = [r for r in shown if not r.leaves.startswith("enum:")]
    lines: list[PlotLine] = []
    grouped: dict[str, list[SkipRatioRow]] = {}
    for row in texts or shown:
        grouped.setdefault(f"{row.leaves} V={_vocab(row):,} {row.backend}", []).append(row)
    for label, of_label in [*grouped.items()][:LINES]:
        for row in of_label:
            assert row.measured is not None
            modelled = row.measured.modelled.by_decode_ms or {}
            if not row.delay_ms:
                curve = [(float(ms), times) for ms, times in modelled.items()]
                lines.append(PlotLine(label, curve, marked=False))
            here_ms = (row.measured.ways["grammar_first"].decode_us_mean or 0.0) / 1000
            point = (here_ms, row.measured.tokens_per_second_vs_grammar)
            interval = row.measured.tokens_per_second_vs_grammar_ci95
            lines.append(PlotLine(label, [point], [interval], joined=False))
    return panels([Panel("", lines, y=OVER, level=1)], "ms of a forward pass", salt)


def _vocab(row: SkipRatioRow) -> int:
    return row.measured.n_vocab if row.measured else 0
