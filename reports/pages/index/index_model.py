"""The model of index.html, from bundles and the pages made of them.

reports/schemas/index.schema.json is made of Index.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sampler_parity.harness.bundle.bundle import Bundle, digest
from sampler_parity.harness.bundle.info import MachineInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.rows import records
from sampler_parity.harness.sanitize.printable import escaped
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.page import HeatMap, PageFinding, ReadyPage
from sampler_parity.reports.parts import SamplerTime, times


class PageLine(Strict):
    """ok: None where the page only measures. figures: what it comes to."""

    stem: str
    title: str
    ok: bool | None
    figures: list[str]


class Told(PageFinding):
    """A finding of a page. minimized: of the first finding alone."""

    stem: str
    title: str


class CheckedBackend(Strict):
    """A backend of a bundle. verdicts: of cases. unavailable: why it did not run, or ""."""

    bundle: str
    name: str
    version: str
    build: str
    device: str
    judged_by: str
    cases: int
    met: int
    verdicts: dict[str, int]
    unavailable: str


class Made(Strict):
    """How a bundle was made. sha256: of its run.json and results.jsonl. suites: digest by name.
    others: results that are no cases, by what they are."""

    name: str
    sha256: str
    version: str
    started: str
    command: list[str]
    profile: str
    seed: int
    wall_s: float
    cases: int
    steps: int
    samplers: list[str]
    others: dict[str, int]
    suites: dict[str, str]
    machine: MachineInfo


class SuiteCount(Strict):
    """Cases and steps of a suite over all bundles. samplers: by name, how many cases use each."""

    suite: str
    cases: int
    steps: int
    samplers: dict[str, int]


class Index(Strict):
    """findings: those that fail first. missing: titles of pages for which there is nothing."""

    schema_version: Literal[1] = 1
    kind: Literal["index"] = "index"
    ok: bool
    findings: list[Told]
    heat_map: HeatMap | None
    pages: list[PageLine]
    missing: list[str]
    backends: list[CheckedBackend]
    bundles: list[Made]
    suites: list[SuiteCount] = []
    times: list[SamplerTime] = []

    @property
    def cases(self) -> int:
        return sum(bundle.cases for bundle in self.bundles)

    @property
    def steps(self) -> int:
        return sum(bundle.steps for bundle in self.bundles)

    @property
    def samplers(self) -> list[str]:
        return sorted({name for bundle in self.bundles for name in bundle.samplers})


@dataclass(frozen=True)
class Overview:
    """The bundles, the pages made of them, and the titles of the pages without content."""

    bundles: list[Bundle]
    pages: list[ReadyPage[list[Bundle], Any]]
    missing: list[str]


def index_of(overview: Overview) -> Index:
    pages, bundles = overview.pages, overview.bundles
    findings = sorted(_told(pages), key=lambda finding: not finding.fails)
    findings[1:] = [finding.model_copy(update={"minimized": None}) for finding in findings[1:]]
    cases = [bundle.cases for bundle in bundles]
    index = Index(
        ok=bool(pages) and all(entry.summary.ok is not False for entry in pages),
        findings=findings,
        heat_map=next((entry.summary.heat_map for entry in pages if entry.summary.heat_map), None),
        pages=[
            PageLine(
                stem=entry.page.stem,
                title=entry.page.title,
                ok=entry.summary.ok,
                figures=[*entry.summary.headlines],
            )
            for entry in pages
        ],
        missing=overview.missing,
        backends=[_checked(bundle, name) for bundle in bundles for name in bundle.info.backends],
        bundles=[_made(bundle) for bundle in bundles],
        suites=_counted(pair for results in cases for pair in results.alike()),
        times=times(*cases),
    )
    return escaped(index)


def _told(pages: list[ReadyPage[list[Bundle], Any]]) -> list[Told]:
    return [
        Told(stem=entry.page.stem, title=entry.page.title, **finding.model_dump())
        for entry in pages
        for finding in entry.summary.findings
    ]


def _counted(cases: Iterable[tuple[CaseResult, int]]) -> list[SuiteCount]:
    """Count cases, each for so many that are alike."""
    numbers: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    samplers: dict[str, Counter[str]] = defaultdict(Counter)
    for case, n in cases:
        numbers[case.suite] += n
        steps[case.suite] += n * case.steps
        samplers[case.suite].update(dict.fromkeys(case.samplers, n))
    return [
        SuiteCount(
            suite=suite, cases=n, steps=steps[suite], samplers=dict(samplers[suite].most_common())
        )
        for suite, n in sorted(numbers.items())
    ]


def _checked(bundle: Bundle, name: str) -> CheckedBackend:
    info = bundle.info.backends[name]
    counted: Counter[str] = Counter()
    met = 0
    for case, n in bundle.cases.alike():
        if name in case.backends:
            counted[case.backends[name].verdict] += n
            met += n * (case.met(name) and not case.skipped(name))
    return CheckedBackend(
        bundle=bundle.folder.resolve().name,
        name=name,
        version=info.version,
        build=info.build,
        device=info.device,
        judged_by=info.reference,
        cases=counted.total() - counted["skipped"],
        met=met,
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
        steps=sum(n * case.steps for case, n in bundle.cases.alike()),
        samplers=sorted({sampler for case, _ in bundle.cases.alike() for sampler in case.samplers}),
        others={what: n for what, n in _others(bundle).items() if n},
        suites=info.suites,
        machine=info.machine,
    )


def _others(bundle: Bundle) -> dict[str, int]:
    """Return how many results of each kind other than cases there are."""
    rows = [row for row in records().values() if row.noun]
    return {row.noun: len(bundle.records.get(row.kind, [])) for row in rows}
