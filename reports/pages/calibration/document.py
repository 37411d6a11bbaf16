"""The calibration page: claims of the tests, power curves, and the rules of other engines."""

from collections.abc import Iterator
from functools import partial

from sampler_parity.harness.bundle.records.calibration import CalibrationResult
from sampler_parity.reports import document as doc
from sampler_parity.reports.labels import short, state_of
from sampler_parity.reports.pages.calibration.chart import power
from sampler_parity.reports.pages.calibration.model import CalibrationReport, CalibrationSection
from sampler_parity.reports.parts import bundle_heading, state


def document(report: CalibrationReport) -> doc.Document:
    """Return the page of a report."""
    intro = (
        "Simulated runs on known distributions: how often the tests are wrong, and from how many "
        "draws on they catch which fault."
    )
    return doc.Document(
        f"Calibration: {state_of(report.ok)}",
        "Calibration of the distribution tests",
        [doc.Paragraph(intro)],
        [_region(section, f"b{i}") for i, section in enumerate(report.sections, 1)],
    )


def _region(section: CalibrationSection, b: str) -> doc.Region:
    result = section.result
    verdict = state(section.ok, f"{section.met}/{len(result.claims)} claims of the tests hold.")
    claims = doc.Table(
        f"Seed {result.seed}, at a level of {result.alpha:.1e} a test.",
        "Requirement | Measured | Met",
        [
            [
                doc.Untrusted(claim.text),
                doc.Untrusted(claim.seen),
                doc.judged("yes" if claim.met else "NO", "good" if claim.met else "bad"),
            ]
            for claim in sorted(result.claims, key=lambda claim: claim.met)
        ],
    )
    heading = bundle_heading(section.bundle, b)
    return doc.Region(
        b, [heading, doc.InHtml([verdict]), claims, *_power(result, b), *_peers(result, b)]
    )


def _power(result: CalibrationResult, b: str) -> Iterator[doc.Block]:
    if not result.curves:
        return
    chart = doc.Picture(
        "Chart of the power curves",
        "Share of simulated runs in which each fault is caught. The table below has the figures.",
        partial(power, result.curves),
    )
    rows: doc.Rows = []
    for name, curves in result.curves.items():
        for curve in curves:
            points = zip(curve.draws, curve.caught, strict=True)
            caught = "; ".join(f"{draws:,}: {n:,}/{curve.runs:,}" for draws, n in points)
            rows.append(
                [name, curve.fault, doc.num(short(curve.tv)), doc.TableCell(caught, kind="wide")]
            )
    head = "Test | Fault | Total variation | Draws: caught of runs"
    table = doc.Table("Runs in which a fault was caught within so many draws.", head, rows)
    heading = doc.Heading(3, "What is caught, by number of draws", f"{b}-power")
    yield doc.InHtml([heading, chart, doc.Fold("Power curves as figures", [table])])


def _peers(result: CalibrationResult, b: str) -> Iterator[doc.Block]:
    if not result.peers:
        return
    rules = [*result.peers[0].passed]
    rows: doc.Rows = [
        [
            doc.Untrusted(row.fault),
            *(
                doc.TableCell(
                    f"{row.passed[rule]:,}/{row.runs[rule]:,} ({short(row.tv[rule])})", kind="keep"
                )
                for rule in rules
            ),
        ]
        for row in result.peers
    ]
    yield doc.Heading(3, "Faults that other engines' rules let pass", f"{b}-peers")
    yield doc.Table(
        "The published pass rules of other engines, each on logits of its own kind: runs passed of "
        "runs, and the total variation of the fault there. The rules were written anew; this is no "
        "run of their code.",
        ["Fault", *map(doc.Untrusted, rules)],
        rows,
        style="sticky",
    )
