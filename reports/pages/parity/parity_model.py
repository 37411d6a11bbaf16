"""The model of a parity report.

The JSON report is this model; the other formats show it.

Counts are whole numbers of cases. Steps, stages and ranks count from 0. Non-finite numbers are the
strings "inf", "-inf" and "nan". reports/schemas/parity.schema.json is made from these models.
"""

from typing import Any, Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import LiveRow
from sampler_parity.harness.failures.differing import FOLDED
from sampler_parity.harness.failures.groups import Group
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.pages.parity.parity_devices import DevicesSection
from sampler_parity.reports.pages.parity.parity_implementations import ParityMatrix
from sampler_parity.reports.pages.parity.parity_releases import Drift
from sampler_parity.reports.parts import SamplerTime

RULE_FACTOR = 2
RULE_EXTRA_NS = 50_000


class Tally(Strict):
    """Cases by verdict on one backend; cases = the sum of verdicts + not_run.

    met: cases whose verdict is among the required ones, with nothing wrong with the case itself.
    """

    cases: int
    met: int
    not_run: int
    verdicts: dict[Verdict, int]

    @property
    def judged(self) -> int:
        """The cases but those that were skipped: neither met nor failed."""
        return self.cases - self.verdicts.get("skipped", 0)


class ParityBackend(Strict):
    """unavailable: why it did not start here, or "". backend_s: in its own sampler calls."""

    name: str
    version: str
    build: str
    device: str
    unavailable: str
    tally: Tally
    wall_s: float
    backend_s: float


class ParityRow(Strict):
    """A row of the matrix (key: a sampler) or of the suites (key: a suite), by backend.

    A case counts for the sampler at which it first differs; where none can be named, once for every
    sampler in its chain. digest: of the suite file; "" for a sampler.
    """

    key: str
    digest: str = ""
    cases: int
    backends: dict[str, Tally]


class ParityDifference(Strict):
    """A case that is not identical on a backend. met: the case allows this verdict."""

    case: str
    suite: str
    samplers: list[str]
    backend: str
    verdict: Verdict
    required: list[Verdict]
    met: bool
    step: int | None
    steps: int
    draws: int
    stage: str
    stage_index: int | None
    what: str
    values: dict[str, Any]
    row: LiveRow | None
    detail: str
    replay: str


class Problem(Strict):
    """A case without evidence, or whose reference is wrong: it fails on every backend."""

    case: str
    suite: str
    samplers: list[str]
    kind: Literal["refused", "expectation", "no step", "not run"]
    detail: str
    replay: str


class SlowCase(Strict):
    """Seconds on the reference and on each backend, transport and comparison included."""

    case: str
    suite: str
    steps: int
    reference_s: float
    wall_s: dict[str, float]


class TimingRatio(Strict):
    """Ratio of medians to llama.cpp. low and high: bootstrap 95% interval; None with one round."""

    value: float
    low: float | None
    high: float | None


class TimedBackend(Strict):
    """Nanoseconds of one application of the chain; p99 and p999 by nearest rank."""

    name: str
    samples: int
    median_ns: float
    p99_ns: int
    p999_ns: int
    ratio: TimingRatio | None


class TimingRule(Strict):
    """The reference's median is at most 2 x llama.cpp's + 50,000 ns. met is None: not judged."""

    limit_ns: float | None
    met: bool | None
    why: str


class Timing(Strict):
    """parity_met: cases of this sampler that met parity in the same run, of parity_cases."""

    id: str
    sampler: str
    n_vocab: int
    rounds: int
    backends: list[TimedBackend]
    rule: TimingRule
    parity_met: int
    parity_cases: int


class Agreement(Strict):
    """Backends that all answered these cases with the same values, which the reference has not."""

    backends: list[str]
    cases: list[str]


class Section(Strict):
    """One bundle. ok: at least one case was judged, every required verdict met, nothing left out.

    cases_met: of cases_judged, those that some backend was asked. findings: what is not as required
    in groups, the worst first, and what was skipped last; differences: case by case.
    """

    bundle: str
    ok: bool
    run: RunInfo
    cases: int
    cases_judged: int
    cases_met: int
    steps: int
    draws: int
    wall_s: float
    backends: list[ParityBackend]
    matrix: list[ParityRow]
    suites: list[ParityRow]
    findings: list[Group]
    differences: list[ParityDifference]
    problems: list[Problem]
    slowest: list[SlowCase]
    timings: list[Timing]
    times: list[SamplerTime] = []
    agreeing: list[Agreement] = []

    @property
    def reported(self) -> list[Group]:
        """Return the groups of failures that are shown in full."""
        return [group for group in self.findings if group.verdict not in FOLDED]

    @property
    def folded(self) -> list[Group]:
        """Return the groups that one line describes."""
        return [group for group in self.findings if group.verdict in FOLDED]

    @property
    def failures(self) -> list[ParityDifference]:
        return [difference for difference in self.differences if not difference.met]

    @property
    def accepted(self) -> list[ParityDifference]:
        return [difference for difference in self.differences if difference.met]


class Report(Strict):
    schema_version: Literal[2] = 2  # 1 held the distribution tests, too
    kind: Literal["parity"] = "parity"
    ok: bool
    sections: list[Section]
    matrix: ParityMatrix | None
    drift: Drift | None
    devices: DevicesSection | None
