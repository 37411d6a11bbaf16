"""The invariance page as Markdown: a row for each backend and width, those that differ first."""

from sampler_parity.harness.sanitize.markup import code
from sampler_parity.reports.labels import figure
from sampler_parity.reports.pages.invariance.model import InvarianceReport, Row
from sampler_parity.reports.writers.markdown import fitting, table

HEAD = ["backend", "width", "equal rows", "largest difference", "largest KL", "mean KL"]
HEAD += ["same top-1"]


def markdown(report: InvarianceReport) -> str:
    lines = ["# Invariance of decoding", ""]
    lines += ["The logits of texts in batches beside those alone. KL in nats.", ""]
    lines += table(HEAD, [line for row in report.rows for line in _lines(row)])
    return fitting(["\n".join(lines) + "\n"])


def _lines(row: Row) -> list[list[str]]:
    name = f"{code(row.backend)} of {code(row.bundle)}"
    if row.failed:
        return [[name, code(row.failed), *[""] * (len(HEAD) - 2)]]
    return [
        [
            name,
            str(f.width),
            f"{f.equal:,}/{f.rows:,}",
            figure(f.difference),
            figure(f.kl_max),
            figure(f.kl_mean),
            f"{f.top1:,}/{f.rows:,}",
        ]
        for f in row.widths
    ]
