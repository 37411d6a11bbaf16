"""The model of index.html; reports/schemas/index.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.info import MachineInfo
from sampler_parity.harness.failures.groups import Small
from sampler_parity.harness.strict import Strict
from sampler_parity.reports.summary import HeatMap
from sampler_parity.reports.times import SamplerTime


class PageLine(Strict):
    """ok: None where the page only measures. figures: what it comes to."""

    stem: str
    title: str
    ok: bool | None
    figures: list[str]


class Told(Strict):
    """A finding of a page. anchor: its place there. minimized: of the first finding alone."""

    stem: str
    title: str
    text: str
    anchor: str
    fails: bool
    replay: str = ""
    minimized: Small | None = None


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
        return sum(made.cases for made in self.bundles)

    @property
    def steps(self) -> int:
        return sum(made.steps for made in self.bundles)

    @property
    def samplers(self) -> list[str]:
        return sorted({name for made in self.bundles for name in made.samplers})
