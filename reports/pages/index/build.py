"""Builds the model of index.html from bundles and the pages made of them."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle, digest
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.sanitize.printable import visible
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.page import ReadyPage
from sampler_parity.reports.pages.index.model import (
    CheckedBackend,
    Index,
    Made,
    PageLine,
    SuiteCount,
    Told,
)
from sampler_parity.reports.times import times


@dataclass(frozen=True)
class Overview:
    """The bundles, the pages made of them, and the titles of the pages without content."""

    bundles: list[Bundle]
    pages: list[ReadyPage[list[Bundle], Any]]
    missing: list[str]


def index_of(overview: Overview) -> Index:
    pages, bundles = overview.pages, overview.bundles
    findings = sorted(_told(pages), key=lambda told: not told.fails)
    findings[1:] = [told.model_copy(update={"minimized": None}) for told in findings[1:]]
    cases = [case for bundle in bundles for case in bundle.cases]
    index = Index(
        ok=bool(pages) and all(made.summary.ok is not False for made in pages),
        findings=findings,
        heat_map=next((made.summary.heat_map for made in pages if made.summary.heat_map), None),
        pages=[
            PageLine(
                stem=made.page.stem,
                title=made.page.title,
                ok=made.summary.ok,
                figures=[*made.summary.headlines],
            )
            for made in pages
        ],
        missing=overview.missing,
        backends=[_checked(bundle, name) for bundle in bundles for name in bundle.info.backends],
        bundles=[_made(bundle) for bundle in bundles],
        suites=_suites(cases),
        times=times(cases),
    )
    return Index.model_validate(visible(index.model_dump()))


def _told(pages: list[ReadyPage[list[Bundle], Any]]) -> list[Told]:
    return [
        Told(stem=made.page.stem, title=made.page.title, **finding.model_dump())
        for made in pages
        for finding in made.summary.findings
    ]


def _suites(cases: list[CaseResult]) -> list[SuiteCount]:
    by_suite: dict[str, list[CaseResult]] = defaultdict(list)
    for case in cases:
        by_suite[case.suite].append(case)
    return [
        SuiteCount(
            suite=suite,
            cases=len(members),
            steps=sum(case.steps for case in members),
            samplers=dict(
                Counter(
                    name for case in members for name in dict.fromkeys(case.samplers)
                ).most_common()
            ),
        )
        for suite, members in sorted(by_suite.items())
    ]


def _checked(bundle: Bundle, name: str) -> CheckedBackend:
    info = bundle.info.backends[name]
    results = [case for case in bundle.cases if name in case.backends]
    counted = Counter(case.backends[name].verdict for case in results)
    cases = [case for case in results if not case.skipped(name)]
    return CheckedBackend(
        bundle=bundle.folder.resolve().name,
        name=name,
        version=info.version,
        build=info.build,
        device=info.device,
        judged_by=info.reference,
        cases=len(cases),
        met=sum(case.met(name) for case in cases),
        verdicts={verdict: counted[verdict] for verdict in ORDER if counted[verdict]},
        unavailable=info.unavailable,
    )


def _made(bundle: Bundle) -> Made:
    info = bundle.info
    return Made(
        name=bundle.folder.resolve().name,
        sha256=digest(bundle.folder),
        version=info.version,
        started=info.started,
        command=info.command,
        profile=info.profile,
        seed=info.seed,
        wall_s=bundle.footer.wall_s if bundle.footer else 0.0,
        cases=len(bundle.cases),
        steps=sum(case.steps for case in bundle.cases),
        samplers=sorted({sampler for case in bundle.cases for sampler in case.samplers}),
        others={what: n for what, n in _others(bundle).items() if n},
        suites=info.suites,
        machine=info.machine,
    )


def _others(bundle: Bundle) -> dict[str, int]:
    """Return how many results of each kind other than cases there are."""
    return {
        "prompt": len(bundle.decodings),
        "invariance": len(bundle.invariances),
        "accuracy measurement": len(bundle.accuracies),
        "distribution test": len(bundle.cells),
        "timing": len(bundle.timings),
        "width": len(bundle.throughputs),
        "skip ratio": len(bundle.skip_ratios),
        "calibration": len(bundle.calibration),
        "timing self-check": len(bundle.timing_checks),
    }
