"""The skip-ratio page as Markdown."""

from sampler_parity.harness.sanitize.markup import code
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.skip_ratio.labels import model_words, percent, with_interval
from sampler_parity.reports.pages.skip_ratio.model import Row, SkipRatioReport
from sampler_parity.reports.writers.markdown import table

SHOWN = 60  # rows of the table


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
    lines += [model_words(report), ""]
    machine = report.bundles[0].run.machine
    return "\n".join([*lines, f"Measured on {code(machine.cpu)}, {code(machine.system)}.", ""])


def _cells(row: Row) -> list[str]:
    measured = row.measured
    assert measured is not None
    own, law = measured.own_us_per_step, measured.law
    speed = with_interval(
        measured.tokens_per_second_vs_grammar, measured.tokens_per_second_vs_grammar_ci95
    )
    again = with_interval(
        measured.tokens_per_second_vs_resampling, measured.tokens_per_second_vs_resampling_ci95
    )
    return [
        code(row.workload),
        code(row.backend),
        f"{measured.n_vocab:,}",
        percent(measured.skip_ratio_mean),
        f"{measured.forward_passes_saved:,}/{measured.forward_passes_total:,}",
        f"{measured.tokens_per_second:,.0f}",
        speed,
        again,
        f"{figure(measured.token_accuracy)}, {figure(measured.text_accuracy)}",
        f"{figure(own.compacting)}, {figure(own.grammar)}",
        f"{figure(law.kl_trie)}, {figure(law.kl_grammar)}",
        figure(row.modelled),
    ]
