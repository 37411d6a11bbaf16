"""How often do the distribution tests err, and which faults do they catch?

The page has the claims of the tests, power curves, and the rules of other engines.
maintenance/schemas/calibration.schema.json is made of CalibrationReport.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.strict import Strict
from sampler_parity.maintenance.calibration.calibration_record import CalibrationResult, Curve
from sampler_parity.reports import document as doc
from sampler_parity.reports.document import JunitTest
from sampler_parity.reports.labels import short, state_of
from sampler_parity.reports.page import Page, PageFinding, PageSummary
from sampler_parity.reports.parts import bundle_heading, state
from sampler_parity.reports.pictures.picture import Panel, PlotLine, panels

PANELS = 8  # of a picture; a calibration has 5


class CalibrationSection(Strict):
    """One bundle. ok: all that must hold of the tests does."""

    bundle: str
    ok: bool
    run: RunInfo
    result: CalibrationResult

    @property
    def met(self) -> int:
        return sum(claim.met for claim in self.result.claims)


class CalibrationReport(Strict):
    schema_version: Literal[1] = 1
    kind: Literal["calibration"] = "calibration"
    ok: bool
    sections: list[CalibrationSection]


def report_of(bundles: list[Bundle]) -> CalibrationReport | None:
    """Return a section for every bundle with a calibration, its last one; None where none has
    one."""
    sections = [_section(bundle) for bundle in bundles if bundle.of(CalibrationResult)]
    if not sections:
        return None
    return CalibrationReport(ok=all(part.ok for part in sections), sections=sections)


def _section(bundle: Bundle) -> CalibrationSection:
    result = CalibrationResult.model_validate(
        visible(bundle.of(CalibrationResult)[-1].model_dump())
    )
    return CalibrationSection(
        bundle=visible(bundle.folder.resolve().name),
        ok=all(claim.met for claim in result.claims),
        run=RunInfo.model_validate(visible(bundle.info.model_dump())),
        result=result,
    )


def power(curves: dict[str, list[Curve]], salt: str) -> str:
    """Return an <svg> element, or "" without curves. salt keeps its ids apart from others'."""
    rows = [
        Panel(name, [_line(curve) for curve in of_test], y="caught", log="x", share=True)
        for name, of_test in [*curves.items()][:PANELS]
    ]
    return panels(rows, "draws", salt)


def _line(curve: Curve) -> PlotLine:
    shares = [caught / curve.runs for caught in curve.caught]
    return PlotLine(curve.fault, [*zip(curve.draws, shares, strict=True)])


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


def summary(report: CalibrationReport) -> PageSummary:
    """Return the claims that do not hold, and how many do."""
    parts = report.sections
    met = sum(part.met for part in parts)
    total = sum(len(part.result.claims) for part in parts)
    wall_s = sum(part.result.wall_s for part in parts)
    failed = [
        (i, claim)
        for i, part in enumerate(parts, 1)
        for claim in part.result.claims
        if not claim.met
    ]
    holds = f"{met:,}/{total:,} claims of the tests hold"
    return PageSummary(
        report.ok,
        [holds],
        lines=[f"NOT MET {claim.text}: {claim.seen}" for _, claim in failed],
        last=f"calibration   {holds}   {wall_s:,.1f} s   {state_of(report.ok)}",
        findings=[
            PageFinding(text=f"not met: {claim.text} ({claim.seen})", anchor=f"b{i}")
            for i, claim in failed
        ],
    )


def junit_tests(report: CalibrationReport) -> Iterator[JunitTest]:
    """Yield a test for every claim."""
    for part in report.sections:
        for claim in part.result.claims:
            suite = f"{part.bundle}: calibration"
            test = JunitTest(suite, part.run.started, claim.text, "calibration")
            failed = f"{claim.text}: {claim.seen}"
            yield test if claim.met else test.ended("failure", "claim", failed)


CALIBRATION = Page[list[Bundle], CalibrationReport](
    stem="calibration",
    title="Calibration",
    answers="How often do the distribution tests err, and which faults do they catch?",
    model=CalibrationReport,
    build=report_of,
    document=document,
    summary=summary,
    junit_tests=lambda _, report: junit_tests(report),
    missed=False,
)
