"""What a run will do, before it is done: `run --plan` prints it, harness/run/run.py does it."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from sampler_parity.harness.backends import names, registry
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.distribution.block import Cell
from sampler_parity.harness.checks.skip_ratio.block import Workload
from sampler_parity.harness.checks.skip_ratio.run import result_id
from sampler_parity.harness.checks.throughput.block import Width
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.processes import sandboxes
from sampler_parity.harness.run.timing import ROUNDS
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.ids import id_fits, may_be_of
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference.chronology import NEWEST

T = TypeVar("T")
Placed = list[tuple[str, T]]  # things to do, each with the suite that it is of

# Seconds of one on one backend: a guess from the footers of quick runs on a busy two-core Xeon, not
# a measurement of its own. It is printed as an estimate.
SECONDS: dict[str, float] = {
    "stages": 0.01,
    "draws": 0.01,
    "unseeded": 0.01,
    "kept": 0.01,
    "streams": 0.01,
    "batch": 0.1,
    "generation": 1.0,
    "sequences": 1.0,
    "on_device": 0.1,
    "logits": 0.5,
    "invariance": 10.0,
    "distribution tests": 1.0,
    "skip ratios": 3.0,
    "timed chains": 0.2,
    "widths": 7.0,
}


@dataclass(frozen=True)
class Asked:
    """The options of `run` that decide what is done."""

    suites: list[str]
    backends: list[str]
    profile: suite.Profile = "quick"
    only: tuple[str, ...] = ()
    seed: int = 0
    timeout_s: float = 60.0
    rounds: int | None = None
    instructions: bool = False
    reference: str | None = None
    executor: str = "local"
    labels: tuple[str, ...] = ()
    jobs: int = 0
    repeat: int = 1
    fail_fast: int = 0
    sandbox: bool = False
    accept: Accept = "identical"
    require_all: bool = False


@dataclass(frozen=True)
class Plan:
    """suites: the digest of each. left_out: those of a folder that lack an extra, why. paths: of
    those given as files, where they lie. releases: the backends, and of each the release that it is
    judged by; None: v0.5.0, as the cases require."""

    asked: Asked
    suites: dict[str, str]
    left_out: dict[str, str]
    paths: dict[str, str]
    releases: dict[str, str | None]
    cases: Placed[Case]
    cells: Placed[Cell]
    workloads: Placed[Workload]
    timings: Placed[TimedChain]
    widths: Placed[Width]

    @property
    def backends(self) -> list[str]:
        return list(self.releases)

    @property
    def ruled(self) -> bool:
        """Whether the reference is timed, too: beside all of the suites of llama.cpp's samplers, on
        a build of it. Not on a cluster, in a sandbox or for another platform: such times mean
        nothing."""
        asked = self.asked
        if asked.profile != "full" or asked.only or asked.executor != "local" or asked.sandbox:
            return False
        about = {name.partition("/")[0] for name in self.suites}
        first = registry.parse(self.backends[0])
        if "parity" not in about or first.engine not in ("llama.cpp", "llama.cpp/graph"):
            return False
        return not (first.of and builds.elsewhere(first.of))

    @property
    def options(self) -> dict[str, str]:
        """Those that decide what a result is, beside the suites, and are not in RunInfo."""
        asked = self.asked
        options = {"timeout": f"{asked.timeout_s:g}", "repeat": str(asked.repeat)}
        if asked.accept != "identical":
            options["accept"] = asked.accept
        if asked.require_all:
            options["require_all"] = "True"
        if self.timings or self.ruled:
            options |= {"rounds": str(self.rounds), "instructions": str(asked.instructions)}
        return options

    @property
    def rounds(self) -> int:
        """Of every timed chain."""
        return self.asked.rounds or ROUNDS[self.asked.profile]

    def on(self, backends: Iterable[str]) -> "Plan":
        """The same on some of its backends."""
        return replace(self, releases={name: self.releases[name] for name in backends})

    def left(self, done: set[str]) -> "Plan":
        """Without what a bundle has already. done: the ids of its results."""

        def whole(workload: Workload) -> bool:
            return workload.id in done or all(
                result_id(workload, name) in done for name in self.backends
            )

        return replace(
            self,
            cases=[pair for pair in self.cases if pair[1].id not in done],
            cells=[pair for pair in self.cells if pair[1].id not in done],
            workloads=[pair for pair in self.workloads if not whole(pair[1])],
            timings=[pair for pair in self.timings if pair[1].result_id not in done],
            widths=[pair for pair in self.widths if pair[1].id not in done],
        )

    def counts(self) -> dict[str, int]:
        """How many there are to do of each kind."""
        counts = Counter[str](case.kind for _, case in self.cases)
        counts["distribution tests"] = len(self.cells)
        counts["skip ratios"] = len(self.workloads)
        counts["timed chains"] = len(self.timings)
        counts["widths"] = len(self.widths)
        return {kind: counts[kind] for kind in SECONDS if counts[kind]}

    @property
    def seconds(self) -> float:
        """An estimate of its time on one core."""
        one = sum(count * SECONDS[name] for name, count in self.counts().items())
        return one * len(self.backends)


def plan_of(asked: Asked) -> Plan:
    """Reads the suites. Raises InputError for what is wrong in them or in the options."""
    files = [suite.read_suite(path) for path in suite.find_suites(asked.suites)]
    named = [(suite.suite_id(file.path), file) for file in files]
    left_out = {
        name: why
        for name, file in named
        if (why := suite.lacking_extra(file)) and not {name, str(file.path)} & {*asked.suites}
    }
    named = [(name, file) for name, file in named if name not in left_out]
    for (name, one), (other, two) in itertools.combinations(named, 2):
        if name == other:
            raise InputError(two.path, f"is suite {name}, as is {one.path}", "rename one of them")
    profile: suite.Profile = "full" if asked.only else asked.profile

    def placed(expanded: Callable[[suite.SuiteFile], list[T]]) -> Placed[T]:
        return [(name, item) for name, file in named for item in expanded(file)]

    plan = Plan(
        asked=asked,
        suites={name: file.sha256 for name, file in named},
        left_out=left_out,
        paths={
            name: str(file.path.absolute())
            for name, file in named
            if not suite.is_shipped(file.path)
        },
        releases=registry.references(_named(asked), asked.reference),
        cases=placed(
            lambda file: (
                suite.expand(file, profile, asked.seed)
                if may_be_of(file.path.stem, asked.only)
                else []
            )
        ),
        cells=placed(lambda file: suite.expand_cells(file, profile)),
        workloads=placed(lambda file: suite.expand_workloads(file, profile)),
        timings=placed(lambda file: suite.expand_timings(file, profile)),
        widths=placed(lambda file: suite.expand_widths(file, profile)),
    )
    _refuse_repeated(plan)
    plan = _only(plan, asked.only) if asked.only else plan
    if address_of(asked) and (plan.timings or plan.widths or plan.workloads):
        problem = "timings and skip-ratio measurements are taken on this machine alone"
        raise InputError("--executor", problem, "run them without it, to a bundle of their own")
    if asked.sandbox and (plan.timings or plan.widths):
        problem = "times are taken without a sandbox, of processes that are bound to a core"
        raise InputError("--sandbox", problem, "run them without it, to a bundle of their own")
    return plan


def _named(asked: Asked) -> list[str]:
    """The backends by the names that they are started by. Raises InputError."""
    if not asked.sandbox:
        return asked.backends
    sandboxes.refuse_unavailable()
    return [names.in_sandbox(name) for name in asked.backends]


def address_of(asked: Asked) -> str:
    """Of the cluster's scheduler; "" for this machine. Raises InputError."""
    kind, _, address = asked.executor.partition(":")
    if kind == "dask" and address:
        return address
    if asked.executor != "local":
        raise InputError(f"--executor {asked.executor}", "unknown", "use local or dask:ADDRESS")
    if asked.labels:
        raise InputError("--label", "is of a cluster", "use --executor dask:ADDRESS")
    return ""


def _refuse_repeated(plan: Plan) -> None:
    """A result is known by its id alone. Raises InputError for one that two suites have."""
    suites: dict[str, str] = {}
    for name, item in placed_ids(plan):
        if item in suites:
            problem = f"is in {suites[item]} and in {name}"
            raise InputError(f"case {item}", problem, "run them to bundles of their own")
        suites[item] = name


def _only(plan: Plan, patterns: tuple[str, ...]) -> Plan:
    """What `--case` names: ids, or patterns. Raises InputError for one that names nothing."""
    known, wanted = set(ids(plan)), set[str]()
    for pattern in patterns:
        item = pattern.partition("@")[0]
        fitting = {item} if item in known else {name for name in known if id_fits(name, item)}
        if not fitting:
            near = did_you_mean(pattern, known) or suite.meant(pattern.partition("/")[0])
            mend = near or "`sampler-parity list cases` has the ids"
            raise InputError(f"--case {pattern}", "no such case", mend)
        wanted |= fitting
    return plan.left(known - wanted)


def ids(plan: Plan) -> Iterator[str]:
    """All that `--case` may name."""
    return (name for _, name in placed_ids(plan))


def placed_ids(plan: Plan) -> Iterator[tuple[str, str]]:
    """The same, each with its suite."""
    for suite_name, item in (*plan.cases, *plan.cells, *plan.workloads, *plan.widths):
        yield suite_name, item.id
    for suite_name, timed in plan.timings:
        yield suite_name, timed.result_id


def lines(plan: Plan, done: set[str]) -> Iterator[str]:
    """The plan in words. done: the ids that the bundle has already."""
    asked = plan.asked
    yield f"plan     profile {asked.profile}, seed {asked.seed}, {asked.executor}"
    for name, release in plan.releases.items():
        yield f"backend  {name}, judged by {release or NEWEST}"
    for name in plan.suites:
        of = replace(
            plan,
            cases=_of(name, plan.cases),
            cells=_of(name, plan.cells),
            workloads=_of(name, plan.workloads),
            timings=_of(name, plan.timings),
            widths=_of(name, plan.widths),
        )
        yield f"suite    {name}: {_said(of)}"
    yield from left_out(plan)
    left = plan.left(done)
    if done:
        yield f"left     {_said(left)}"
    if plan.ruled:
        yield "beside   every sampler timed on the first backend and on reference"
    yield f"total    {_said(plan)}; about {_duration(left.seconds)} on one core, nothing was run"


def left_out(plan: Plan) -> Iterator[str]:
    """A line for each suite of a folder that is not run."""
    return (f"left out {name}: {why}" for name, why in plan.left_out.items())


def _of(name: str, pairs: Placed[T]) -> Placed[T]:
    return [pair for pair in pairs if pair[0] == name]


def _said(plan: Plan) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in plan.counts().items()) or "nothing"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
