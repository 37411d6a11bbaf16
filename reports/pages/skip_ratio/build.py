"""The skip-ratio page: what a token trie saves against a grammar, by leaves, vocabulary and device,
and from which decode time on it still matters."""

from markupsafe import Markup

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records.case import RunInfo
from sampler_parity.harness.bundle.records.skip_ratio import (
    DECODE_MS,
    Check,
    Measured,
    SkipRatioResult,
)
from sampler_parity.harness.trie.model import foretold
from sampler_parity.reports.pages.parity.html import environment
from sampler_parity.reports.pages.parity.markdown import code, table
from sampler_parity.reports.pages.skip_ratio import chart
from sampler_parity.reports.pages.skip_ratio.model import Bundle, Row, SkipRatioReport
from sampler_parity.reports.render.words import duration, figure, one_line, replay, visible

SHOWN = 60  # rows of the Markdown
PRINTED = 12  # of the terminal


def report_of(bundles: list[bundle.Bundle]) -> SkipRatioReport | None:
    """None where no bundle measured a skip ratio."""
    parts: list[Bundle] = []
    rows: list[Row] = []
    for read in bundles:
        if read.skip_ratios:
            info = RunInfo.model_validate(visible(read.info.model_dump()))
            name = visible(read.folder.resolve().name)
            parts.append(Bundle(name=name, run=info))
            by_key = {_key(r): r for r in read.skip_ratios}
            for result in read.skip_ratios:
                base = by_key.get((*_key(result)[:-1], 0.0))
                rows.append(_row(name, info, result, base.measured if base else None))
    if not rows:
        return None
    here = [abs(r.deviation) for r in rows if r.deviation is not None and not r.delay_ms]
    longer = [abs(r.deviation) for r in rows if r.deviation is not None and r.delay_ms]
    return SkipRatioReport(
        ok=all(row.ok for row in rows),
        bundles=parts,
        rows=sorted(rows, key=lambda row: row.ok),
        points=len(here),
        points_deviation=max(here, default=None),
        foretold=len(longer),
        foretold_deviation=max(longer, default=None),
    )


def _key(result: SkipRatioResult) -> tuple[str, str, str, float]:
    return result.backend, result.model, result.leaves, result.delay_ms


def _row(bundle_name: str, info: RunInfo, given: SkipRatioResult, base: Measured | None) -> Row:
    """base: the same without a delay."""
    result = SkipRatioResult.model_validate(visible(given.model_dump()))
    found = result.measured
    failed = [_unmet(check) for check in result.checks if not check.met]
    if found is None:
        failed.append(f"{result.verdict}: {result.detail}")
    elif not result.checks:
        failed.append("nothing was required")
    modelled = found.modelled.here if found else None
    if found and result.delay_ms:
        modelled = foretold(base, found) if base else None
    known = {name: about for name, about in info.backends.items() if name == result.backend}
    return Row(
        bundle=bundle_name,
        workload=result.workload,
        backend=result.backend,
        model=result.model,
        leaves=result.leaves,
        prompts=result.prompts,
        rounds=result.rounds,
        delay_ms=result.delay_ms,
        ok=result.ok,
        verdict=result.verdict,
        failed=failed,
        measured=found,
        checks=result.checks,
        modelled=modelled,
        deviation=modelled / found.tokens_per_second_vs_grammar - 1 if found and modelled else None,
        replay=replay(result.suite, result.workload, result.seed, known),
    )


def _unmet(check: Check) -> str:
    return f"{check.what} is {figure(check.found)}, required {check.relation} {figure(check.limit)}"


def html(report: SkipRatioReport) -> str:
    measured = [row for row in report.rows if row.measured is not None]
    template = environment().get_template("skip-ratio.html.j2")
    return template.render(
        report=report,
        rows=measured,
        by_leaves=Markup(chart.by_leaves(measured)),  # escaped by Matplotlib
        by_decode=Markup(chart.by_decode(measured)),
        leaves_of=leaves_of,
        percent=percent,
        with_interval=with_interval,
        us=us,
        model=_model(report),
        times=[f"{ms:g}" for ms in DECODE_MS],
    )


def figures_of(report: SkipRatioReport) -> list[str]:
    """What the report comes to: how much is as required, and `actions` at each vocabulary."""
    met = sum(row.ok for row in report.rows)
    lines = [f"{met:,}/{len(report.rows):,} measurements as required"]
    shown: dict[int, Row] = {}
    for row in report.rows:
        if row.measured and row.leaves == "actions" and not row.delay_ms:
            shown.setdefault(row.measured.n_vocab, row)
    for n, row in sorted(shown.items()):
        assert row.measured is not None
        speed = with_interval(
            row.measured.tokens_per_second_vs_grammar,
            row.measured.tokens_per_second_vs_grammar_ci95,
        )
        lines.append(f"30 actions at V = {n:,}: {speed} times the tokens/s of grammar first")
    return lines


def terminal_lines(read: bundle.Bundle) -> list[str]:
    """What a run prints: failures, a line for each measurement, and how good the model is."""
    report = report_of([read])
    if report is None:
        return []
    failed = [row for row in report.rows if not row.ok]
    lines = []
    for row in failed[:PRINTED]:
        lines += [f"FAILED {one_line(row.workload)} on {one_line(row.backend)}"]
        lines += [*(f"  {one_line(why)}" for why in row.failed), f"  replay: {row.replay}"]
    measured = [row for row in report.rows if row.measured is not None]
    lines += [_line(row) for row in measured[:PRINTED]]
    if len(measured) > PRINTED:
        lines.append(f"  ... and {len(measured) - PRINTED:,} more")
    met = len(report.rows) - len(failed)
    state = "ok" if report.ok else "FAILED"
    parts = [f"skip     {met:,}/{len(report.rows):,} as required", _model(report), state]
    return [*lines, "   ".join(parts)]


def _line(row: Row) -> str:
    found = row.measured
    assert found is not None
    speed = with_interval(
        found.tokens_per_second_vs_grammar, found.tokens_per_second_vs_grammar_ci95
    )
    return (
        f"skip     {leaves_of(row)} {one_line(row.model)} V={found.n_vocab:,}"
        f"   skip ratio {percent(found.skip_ratio_mean)}"
        f"   {found.forward_passes_saved:,}/{found.forward_passes_total:,} passes saved"
        f"   {speed} x grammar first"
    )


def leaves_of(row: Row) -> str:
    """With what was added to a forward pass."""
    return one_line(row.leaves) + (f" +{row.delay_ms:g} ms" if row.delay_ms else "")


def percent(value: float | None) -> str:
    """With as many digits as a skip ratio near 1 needs."""
    return "none" if value is None else f"{100 * value:.5g}%"


def us(value: float | None) -> str:
    return "none" if value is None else duration(1000 * value)


def with_interval(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.3g} [{interval[0]:.3g}, {interval[1]:.3g}]"


def markdown(report: SkipRatioReport) -> str:
    lines = [f"# Skip-ratio report: {'ok' if report.ok else 'FAILED'}", ""]
    for row in report.rows:
        lines += [
            f"- **FAILED** {code(row.workload)} on {code(row.backend)}: {code(why)}, "
            f"replay: {code(row.replay, 400)}"
            for why in row.failed
        ]
    head = ["workload", "backend", "V", "skip ratio", "passes saved", "tokens/s"]
    head += ["over grammar first", "over resampling", "token, text accuracy"]
    head += ["own us: trie, grammar", "KL trie, grammar"]
    shown = [_cells(row) for row in report.rows if row.measured is not None]
    lines += ["", *table([*head, "modelled"], shown[:SHOWN]), ""]
    if len(shown) > SHOWN:
        lines += [f"{len(shown) - SHOWN:,} more rows.", ""]
    lines += [_model(report), ""]
    machine = report.bundles[0].run.machine
    return "\n".join([*lines, f"Measured on {code(machine.cpu)}, {code(machine.system)}.", ""])


def _model(report: SkipRatioReport) -> str:
    if report.points_deviation is None:
        return "No measured speed-up to hold the model against."
    parts = [f"{100 * report.points_deviation:.3g}% at {report.points:,} measured points"]
    if report.foretold_deviation is not None:
        off = f"{100 * report.foretold_deviation:.3g}%"
        parts.append(f"{off} at {report.foretold:,} points with a longer pass, foretold by others")
    return f"The modelled speed-up is off the measured one by at most {', and '.join(parts)}."


def _cells(row: Row) -> list[str]:
    found = row.measured
    assert found is not None
    own, law = found.own_us_per_step, found.law
    speed = with_interval(
        found.tokens_per_second_vs_grammar, found.tokens_per_second_vs_grammar_ci95
    )
    again = with_interval(
        found.tokens_per_second_vs_resampling, found.tokens_per_second_vs_resampling_ci95
    )
    return [
        code(row.workload),
        code(row.backend),
        f"{found.n_vocab:,}",
        percent(found.skip_ratio_mean),
        f"{found.forward_passes_saved:,}/{found.forward_passes_total:,}",
        f"{found.tokens_per_second:,.0f}",
        speed,
        again,
        f"{figure(found.token_accuracy)}, {figure(found.text_accuracy)}",
        f"{figure(own.compacting)}, {figure(own.grammar)}",
        f"{figure(law.kl_trie)}, {figure(law.kl_grammar)}",
        figure(row.modelled),
    ]
