"""The model of a parity report.

The JSON report is this model; the other formats show it.

Counts are whole numbers of cases. Steps, stages and ranks count from 0. Non-finite numbers are the
strings "inf", "-inf" and "nan". reports/schemas/parity.schema.json is made from these models.
"""

from typing import Any, Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.checks.stages.record import BackendResult, LiveRow
from sampler_parity.harness.failures.groups import FOLDED, Group
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reports.pages.parity.matrix_model import ParityMatrix
from sampler_parity.reports.times import SamplerTime

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


class DriftColumn(Strict):
    """A build that was judged by its own release, in the bundle that holds it."""

    bundle: str
    backend: str
    release: str


class DriftCell(Strict):
    """A sampler on a build. identical: to the reference of its release. lacking: the build has not
    got a sampler of the case. unknown: nobody knows how one is called or what it meant there.
    undefined: in that release, not asked. changed: not identical to v0.5.0's meaning of this
    sampler. changes: how many cases need each old meaning of it. by_neighbours: nobody saw when a
    meaning changed near the release, which is judged by those seen on both sides."""

    cases: int
    identical: int
    lacking: int
    unknown: int
    undefined: int
    changed: int
    changes: dict[str, int]
    by_neighbours: bool = False

    @property
    def unexplained(self) -> int:
        return self.cases - self.identical - self.lacking - self.unknown - self.undefined


class DriftRow(Strict):
    sampler: str
    cells: list[DriftCell]
    verdict: str


class MeaningChange(Strict):
    """A change of meaning between two releases. cases: by backend, how many need the old one.
    result: how the backend differs from v0.5.0's meaning on the counterexample."""

    name: str
    samplers: list[str]
    last_old: str
    first_new: str
    old: str
    new: str
    cases: dict[str, int]
    backend: str
    case: str
    counterexample: dict[str, Any] | None
    result: BackendResult | None
    replay: str


class Drift(Strict):
    """cells of a row: in the order of the columns, which are in the order of the releases."""

    columns: list[DriftColumn]
    rows: list[DriftRow]
    changes: list[MeaningChange]


class Configuration(Strict):
    """A backend on its device, compared with the first of its bundle.

    compared: prompts that have figures, of `prompts`; equal: those whose logits are equal to the
    bit. top1: of `rows` positions. difference: largest absolute of two logits. kl_*: in nats.
    parted: texts that leave the first's, of `texts`; earliest: the step of the first to do so.
    """

    bundle: str
    backend: str
    device: str
    machine: str
    unavailable: str
    first: str
    prompts: int
    compared: int
    equal: int
    rows: int
    top1: int
    difference: float | None
    kl_max: float | None
    kl_mean: float | None
    failed: str
    texts: int
    parted: int
    earliest: int | None


class PartedText(Strict):
    """A text that leaves the first backend's at `step`; see harness.checks.stages.record.Parted."""

    bundle: str
    backend: str
    case: str
    verdict: Verdict
    first_verdict: Verdict
    step: int
    token: int
    first_token: int
    margin: float | None
    difference: float | None
    replay: str


class Across(Strict):
    """A configuration compared with the first of another bundle. The figures are of `kept` rows."""

    bundle: str
    backend: str
    base: str
    prompts: int
    equal: int
    kept: int
    top1: int
    difference: float | None
    kl_max: float | None


class DevicesSection(Strict):
    configurations: list[Configuration]
    parted: list[PartedText]
    across: list[Across]


class Report(Strict):
    schema_version: Literal[2] = 2  # 1 held the distribution tests, too
    kind: Literal["parity"] = "parity"
    ok: bool
    sections: list[Section]
    matrix: ParityMatrix | None
    drift: Drift | None
    devices: DevicesSection | None
