"""Show what a token trie saves against a grammar, and from which decode time on.

The page lists the savings, whether the texts are equal, the costs, and a model of the speed.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.protocol.measured import DECODE_MS, Measured
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import duration, figure, interval, state_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary
from sampler_parity.reports.pages.skip_ratio.skip_ratio_model import (
    SkipRatioReport,
    SkipRatioRow,
    report_of,
)
from sampler_parity.reports.parts import machine, state
from sampler_parity.reports.pictures.picture import Panel, PlotLine, panels

LINES = 6  # of the picture over decode times
OVER = "tokens/s over grammar first"
INTRO = (
    "Savings of a token trie against llama.cpp's grammar, greedy, on the same model in the same "
    "run."
)
SAVED = (
    "Skip ratio: share of the vocabulary that the trie takes away, a mean over tokens. Passes "
    "saved: tokens without a forward pass of their own. Over grammar first, over resampling: "
    "tokens per second of the trie over those of the grammar used in either way, of pairs, with "
    "the bootstrap 95% interval."
)
SAME = (
    "Token accuracy: positions with the token that the grammar takes where only the trie's "
    "spelling is let through. Text accuracy: leaves with the text of the grammar of texts, which "
    "may begin another way and so end at another leaf. KL: divergence, in nats, of what the masks "
    "make from the model's own distribution over the leaves, after the first prompt. Beyond: share "
    "of spellings that the grammar takes and the trie does not."
)
COSTS = (
    "Own cost: median of one step's apply and accept alone, on all tokens. Sampling: median of one "
    "step of the whole chain. Set: set_token_trie with a payload met first, and one in the cache. "
    "Read: llama.cpp reads the grammar."
)
MODEL = (
    "It takes forward passes and sampling for everything that costs time: passes per token × (time "
    "of a pass + sampling). A pass that takes forced tokens along is taken to cost as much as one "
    "that does not."
)
BY_LEAVES = (
    "Enumerations: the share of the vocabulary that the trie leaves, and its tokens per second "
    "over those of grammar first with the 95% interval, by the number of leaves; both axes "
    "logarithmic. The table above has the figures."
)
BY_DECODE = (
    "Lines: the modelled speed-up by the time of a forward pass; marks: what was measured, with "
    "the 95% interval, at the time of a pass of that run; both axes logarithmic. The table above "
    "has the figures."
)
PRINTED = 12  # failures, and measurements


def leaves_of(row: SkipRatioRow) -> str:
    """Return the leaves, with what was added to a forward pass."""
    return one_line(row.leaves) + (f" +{row.delay_ms:g} ms" if row.delay_ms else "")


def percent(value: float | None) -> str:
    """Return a share with as many digits as a skip ratio near 1 needs."""
    return "none" if value is None else f"{100 * value:.5g}%"


def microseconds(value: float | None) -> str:
    """Return microseconds with a unit."""
    return "none" if value is None else duration(1000 * value)


def over_grammar(m: Measured) -> str:
    """Return the speed-up over the grammar first, with its interval."""
    return interval(m.tokens_per_second_vs_grammar, *m.tokens_per_second_vs_grammar_ci95)


def over_resampling(m: Measured) -> str:
    """Return the speed-up over the grammar by resampling, with its interval."""
    return interval(m.tokens_per_second_vs_resampling, *m.tokens_per_second_vs_resampling_ci95)


def model_error(report: SkipRatioReport) -> str:
    """Return how far the modelled speed-up is off the measured one."""
    if report.points_deviation is None:
        return "No measured speed-up to hold the model against."
    parts = [f"{100 * report.points_deviation:.3g}% at {report.points:,} measured points"]
    if report.foretold_deviation is not None:
        off = f"{100 * report.foretold_deviation:.3g}%"
        parts.append(f"{off} at {report.foretold:,} points with a longer pass, foretold by others")
    return f"The modelled speed-up is off the measured one by at most {', and '.join(parts)}."


def by_leaves(rows: list[SkipRatioRow], salt: str) -> str:
    """Return, of enumerations, by their number of leaves, what the trie leaves of the vocabulary
    and its speed-up, a line for each vocabulary and backend."""
    lines: dict[str, list[SkipRatioRow]] = {}
    for row in rows:
        if row.leaves.startswith("enum:") and not row.delay_ms:
            lines.setdefault(f"V={_vocab(row):,} {row.backend}", []).append(row)
    remaining, speed = [], []
    for label, of_label in lines.items():
        points = sorted((m for row in of_label if (m := row.measured)), key=lambda m: m.leaves)
        remaining.append(PlotLine(label, [(m.leaves, 1 - m.skip_ratio_mean) for m in points]))
        speeds = [(m.leaves, m.tokens_per_second_vs_grammar) for m in points]
        intervals = [m.tokens_per_second_vs_grammar_ci95 for m in points]
        speed.append(PlotLine(label, speeds, intervals))
    plots = [Panel("", remaining, y="share of V that is left"), Panel("", speed, y=OVER, level=1)]
    return panels(plots, "leaves", salt)


def by_decode(rows: list[SkipRatioRow], salt: str) -> str:
    """Return the modelled speed-up over decode times, with what was measured as dots."""
    with_model = [r for r in rows if r.measured and r.measured.modelled.by_decode_ms]
    texts = [r for r in with_model if not r.leaves.startswith("enum:")]
    lines: list[PlotLine] = []
    grouped: dict[str, list[SkipRatioRow]] = {}
    for row in texts or with_model:
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


def document(report: SkipRatioReport) -> doc.Document:
    """Return the page of a report."""
    rows = [row for row in report.rows if row.measured is not None]
    verdict = state(report.ok, f"{_counted(report)}.")
    measured = [*_saved(rows), *_model(report, rows)] if rows else []
    parts = [verdict, *_failures(report), *measured, *_machines(report)]
    title = f"Skip-ratio report: {state_of(report.ok)}"
    blocks = [doc.InHtml(parts), doc.InMarkdown([*_brief(report, rows)])]
    return doc.Document(title, "Skip-ratio report", [doc.Paragraph(INTRO)], blocks)


def _counted(report: SkipRatioReport) -> str:
    """Return how many measurements are as required, and how many were skipped, with the reason."""
    skipped = [row for row in report.rows if row.skipped]
    met, judged = sum(row.ok for row in report.rows), len(report.rows) - len(skipped)
    text = f"{met:,}/{judged:,} measurements as required"
    if not skipped:
        return text
    on = ", ".join(dict.fromkeys(one_line(row.backend, 80) for row in skipped))
    return f"{text}, {len(skipped):,} skipped on {on}: {one_line(skipped[0].failed[0], 200)}"


def _failed(report: SkipRatioReport) -> list[SkipRatioRow]:
    return [row for row in report.rows if not row.ok and not row.skipped]


def _failures(report: SkipRatioReport) -> Iterator[doc.Block]:
    rows: doc.Rows = [
        [
            row.workload,
            row.backend,
            doc.TableCell("; ".join(row.failed), kind="wide"),
            doc.Code(row.replay),
        ]
        for row in _failed(report)
    ]
    if rows:
        caption = "Measurements that miss what is required, or could not be made."
        yield doc.Heading(2, "Failures", "failures")
        yield doc.Table(caption, "Workload | Backend | Why | Replay", rows, style="stacked")


def _table(
    caption: str,
    head: str,
    rows: Sequence[SkipRatioRow],
    cells: Callable[[SkipRatioRow, Measured], Sequence[doc.TableCell | str]],
) -> doc.Table:
    """Return a table with a row of numbers for each measurement."""
    body: doc.Rows = [
        [
            doc.Lines([leaves_of(row), doc.Toned(f"{row.model}, {row.backend}", "quiet")]),
            *(cell if isinstance(cell, doc.TableCell) else doc.num(cell) for cell in cells(row, m)),
        ]
        for row in rows
        if (m := row.measured) is not None
    ]
    return doc.Table(caption, f"Leaves | {head}", body, style="sticky")


def _saved(rows: Sequence[SkipRatioRow]) -> Iterator[doc.Block]:
    yield doc.Heading(2, "What is saved", "saved")
    head = "Vocabulary | Skip ratio | Std | Passes saved | Tokens/s | Over grammar first"
    yield _table(SAVED, f"{head} | Over resampling | Pairs", rows, _saved_cells)
    yield doc.Picture("Chart over the number of leaves", BY_LEAVES, partial(by_leaves, [*rows]))
    yield doc.Heading(2, "Whether it is the same text", "same")
    head = (
        "Token accuracy | Text accuracy | KL of the trie | KL of the grammar | Spellings | Beyond"
    )
    yield _table(SAME, head, rows, _same_cells)
    yield doc.Heading(2, "Cost", "costs")
    head = (
        "Own: masking | Own: compacting | Own: grammar | Sampling: trie | Sampling: grammar first"
    )
    more = "Nodes | Trie bytes | Set, first | Set, cached | Read"
    yield _table(COSTS, f"{head} | {more}", rows, _cost_cells)


def _saved_cells(_: SkipRatioRow, m: Measured) -> Sequence[doc.TableCell | str]:
    return [
        f"{m.n_vocab:,}",
        percent(m.skip_ratio_mean),
        figure(m.skip_ratio_std),
        f"{m.forward_passes_saved:,}/{m.forward_passes_total:,}",
        f"{m.tokens_per_second:,.0f}",
        doc.TableCell(over_grammar(m), kind="keep"),
        doc.TableCell(over_resampling(m), kind="keep"),
        str(m.pairs),
    ]


def _same_cells(_: SkipRatioRow, m: Measured) -> Sequence[doc.TableCell | str]:
    accuracy = doc.num(figure(m.token_accuracy), "good" if m.token_accuracy == 1 else "bad")
    divergences = [figure(value) for value in (m.text_accuracy, m.law.kl_trie, m.law.kl_grammar)]
    return [accuracy, *divergences, f"{m.law.spellings:,}", percent(m.law.beyond_trie)]


def _cost_cells(_: SkipRatioRow, m: Measured) -> Sequence[doc.TableCell | str]:
    costs, ways, trie = m.own_us_per_step, m.ways, m.set_token_trie_us
    sampling = [ways[mode].sampler_us_per_step for mode in ("trie", "grammar_first")]
    return [
        *map(microseconds, [costs.masking, costs.compacting, costs.grammar, *sampling]),
        *(f"{m.trie_nodes:,}", f"{m.trie_bytes:,}"),
        *map(microseconds, [trie.cold, trie.cached, m.read_grammar_us]),
    ]


def _model(report: SkipRatioReport, rows: Sequence[SkipRatioRow]) -> Iterator[doc.Block]:
    times = [f"{ms:g}" for ms in DECODE_MS]
    head = "Pass here | Measured | Modelled | Deviation"
    caption = (
        "Measured and modelled speed-up over grammar first; the last columns are the model at "
        "other times of a forward pass."
    )
    yield doc.Heading(2, "Longer forward passes", "model")
    yield doc.Paragraph(f"{model_error(report)} {MODEL}")
    yield _table(caption, " | ".join([head, *(f"{ms} ms" for ms in times)]), rows, _model_cells)
    label = "Chart over the time of a forward pass"
    yield doc.Picture(label, BY_DECODE, partial(by_decode, [*rows]))


def _model_cells(row: SkipRatioRow, m: Measured) -> Sequence[doc.TableCell | str]:
    by_ms = m.modelled.by_decode_ms
    return [
        microseconds(m.ways["grammar_first"].decode_us_mean),
        figure(m.tokens_per_second_vs_grammar),
        figure(row.modelled),
        percent(row.deviation),
        *(figure(by_ms[f"{ms:g}"]) if by_ms else "none" for ms in DECODE_MS),
    ]


def _machines(report: SkipRatioReport) -> Iterator[doc.Block]:
    yield doc.Heading(2, "Machine and versions", "machine")
    for part in report.bundles:
        run = part.run
        text = f"Started {run.started}; profile {run.profile}, seed {run.seed}."
        yield doc.Heading(3, ("Bundle ", doc.Name(part.name)))
        yield from (doc.Paragraph(text, "quiet"), *machine(run))


def _brief(report: SkipRatioReport, rows: Sequence[SkipRatioRow]) -> Iterator[doc.Block]:
    failed = [
        (
            *(doc.Strong("FAILED"), " ", doc.Name(row.workload), " on ", doc.Name(row.backend)),
            *(": ", doc.Name(why), ", replay: ", doc.Code(row.replay)),
        )
        for row in _failed(report)
        for why in row.failed
    ]
    if any(row.skipped for row in report.rows):
        yield doc.Paragraph(f"{_counted(report)}.")
    if failed:
        yield doc.Items(failed)
    head = "Workload | Backend | V | Skip ratio | Passes saved | Tokens/s | Over grammar first"
    head += " | Over resampling | Token, text accuracy | Own us: trie, grammar | KL trie, grammar"
    yield doc.Table("", f"{head} | Modelled", [_brief_row(row) for row in rows])
    yield doc.Paragraph(model_error(report))
    on = report.bundles[0].run.machine
    yield doc.Paragraph(("Measured on ", doc.Name(on.cpu), ", ", doc.Name(on.system), "."))


def _brief_row(row: SkipRatioRow) -> list[doc.Inline]:
    m = row.measured
    assert m is not None
    costs, law = m.own_us_per_step, m.law
    return [
        doc.Name(row.workload),
        doc.Name(row.backend),
        f"{m.n_vocab:,}",
        percent(m.skip_ratio_mean),
        f"{m.forward_passes_saved:,}/{m.forward_passes_total:,}",
        f"{m.tokens_per_second:,.0f}",
        over_grammar(m),
        over_resampling(m),
        f"{figure(m.token_accuracy)}, {figure(m.text_accuracy)}",
        f"{figure(costs.compacting)}, {figure(costs.grammar)}",
        f"{figure(law.kl_trie)}, {figure(law.kl_grammar)}",
        figure(row.modelled),
    ]


def summary(report: SkipRatioReport) -> PageSummary:
    """Return failures, a line for each measurement, and how good the model is."""
    return PageSummary(
        report.ok,
        [_counted(report), *_headlines(report)],
        lines=[*_lines(report)],
        findings=[
            PageFinding(
                text=f"{row.workload}: {row.failed[0]}, on {row.backend}", anchor="failures"
            )
            for row in _failed(report)
            if row.failed
        ],
    )


def _headlines(report: SkipRatioReport) -> Iterator[str]:
    """Yield `actions` at each vocabulary."""
    by_vocab: dict[int, Measured] = {}
    for row in report.rows:
        if row.measured and row.leaves == "actions" and not row.delay_ms:
            by_vocab.setdefault(row.measured.n_vocab, row.measured)
    for n, m in sorted(by_vocab.items()):
        speed_up = f"{over_grammar(m)} times the tokens/s of grammar first"
        yield f"30 actions at V = {n:,}: {speed_up}"


def _lines(report: SkipRatioReport) -> Iterator[str]:
    for row in _failed(report)[:PRINTED]:
        yield f"FAILED {one_line(row.workload)} on {one_line(row.backend)}"
        yield from (f"  {one_line(why)}" for why in row.failed)
        yield f"  replay: {row.replay}"
    measured = [row for row in report.rows if row.measured is not None]
    yield from map(_line, measured[:PRINTED])
    if len(measured) > PRINTED:
        yield f"  ... and {len(measured) - PRINTED:,} more"
    parts = [f"skip     {_counted(report).replace(' measurements', '', 1)}", model_error(report)]
    yield "   ".join([*parts, state_of(report.ok)])


def _line(row: SkipRatioRow) -> str:
    m = row.measured
    assert m is not None
    return (
        f"skip     {leaves_of(row)} {one_line(row.model)} V={m.n_vocab:,}"
        f"   skip ratio {percent(m.skip_ratio_mean)}"
        f"   {m.forward_passes_saved:,}/{m.forward_passes_total:,} passes saved"
        f"   {over_grammar(m)} x grammar first"
    )


SKIP_RATIO = Page[list[Bundle], SkipRatioReport](
    stem="skip-ratio",
    title="Skip ratio",
    answers="What does a token trie save against a grammar, and from which decode time on?",
    model=SkipRatioReport,
    build=report_of,
    document=document,
    summary=summary,
)
