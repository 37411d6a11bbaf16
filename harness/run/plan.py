"""The plan of a run: `run --plan` prints it, harness/run/run.py executes it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sampler_parity.harness.backends import engines, registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.checks import KINDS, Profile
from sampler_parity.harness.checks.context import Terms
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.timing.run import ROUNDS
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import of_this_code
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.processes import shell
from sampler_parity.harness.run.started import Intent
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.expansion_cache import Expansions
from sampler_parity.harness.suite.items import files_of, items_of
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference.chronology import NEWEST

IN_A_ROW = 5  # equal timeouts or crashes, after which a backend is not asked any more


@dataclass(frozen=True)
class RunOptions:
    """The options of `run` that decide what is done. cache: read what the same code computed
    before. keep_going: ask a backend for every case, however often it fails alike."""

    suites: list[str]
    backends: list[str]
    profile: Profile = "quick"
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
    cache: bool = False
    keep_going: bool = False


@dataclass(frozen=True)
class Plan:
    """The plan of a run. items: in the order of their kinds.

    suites: the digest of each. left_out: suites of a folder that lack an extra, with the reason.
    paths: where the suites that were given as files are.
    releases: the release that each backend is judged by; None: v0.5.0, as the cases require.
    expansions: those of earlier runs, if they may be read. state: of the code and the machine, by
    which they were chosen.
    """

    run_options: RunOptions
    suites: dict[str, str]
    left_out: dict[str, str]
    paths: dict[str, str]
    releases: dict[str, str | None]
    items: list[CheckItem]
    expansions: Expansions | None = None
    state: Mapping[str, Any] | None = None

    @property
    def backends(self) -> list[str]:
        return list(self.releases)

    @property
    def ruled(self) -> bool:
        """Whether the reference is timed, too: in a full run of the suites of llama.cpp's samplers
        on a build of it. Never on a cluster, in a sandbox or for another platform: such times mean
        nothing."""
        options = self.run_options
        if (
            options.profile != "full"
            or options.only
            or options.executor != "local"
            or options.sandbox
        ):
            return False
        about = {name.partition("/")[0] for name in self.suites}
        first = registry.parse(self.backends[0])
        if "parity" not in about or first.engine not in ("llama.cpp", "llama.cpp/graph"):
            return False
        return not (first.of and builds.elsewhere(first.of))

    @property
    def options(self) -> dict[str, str]:
        """The options that decide a result and are neither suites nor in RunInfo."""
        run_options = self.run_options
        options = {"timeout": f"{run_options.timeout_s:g}", "repeat": str(run_options.repeat)}
        if run_options.accept != "identical":
            options["accept"] = run_options.accept
        if run_options.require_all:
            options["require_all"] = "True"
        if self.of("timed chains") or self.ruled:
            options |= {"rounds": str(self.rounds), "instructions": str(run_options.instructions)}
        return options

    @property
    def rounds(self) -> int:
        """The rounds of every timed chain."""
        return self.run_options.rounds or ROUNDS[self.run_options.profile]

    @property
    def terms(self) -> Terms:
        """The terms of every item. The errors are those of the whole plan, not of what is left."""
        options = self.run_options
        return Terms(
            self.releases,
            options.timeout_s,
            options.seed,
            repeat=options.repeat,
            accept=options.accept,
            require_all=options.require_all,
            errors=Budget(len(self.of("distribution tests")) * len(self.releases)).each,
            profile=options.profile,
            rounds=options.rounds,
            instructions=options.instructions,
            in_a_row=0 if options.keep_going else IN_A_ROW,
        )

    @property
    def intent(self) -> Intent:
        """The content of its header before anything is run."""
        options = self.run_options
        return Intent(
            self.releases,
            self.suites,
            options.profile,
            options.seed,
            options.only,
            options.timeout_s,
            state=self.state,
        )

    @property
    def judged(self) -> list[CheckItem]:
        """The items that are not timed: they may run in many processes at once."""
        return [item for item in self.items if not item.kind.timed]

    def of(self, *nouns: str) -> list[CheckItem]:
        """Return the items of the kinds with these nouns."""
        return [item for item in self.items if item.kind.noun in nouns]

    def on(self, backends: Iterable[str]) -> "Plan":
        """Return the same plan on some of its backends."""
        return replace(self, releases={name: self.releases[name] for name in backends})

    def left(self, finished: set[str]) -> "Plan":
        """Return the plan without finished items. finished: ids of the results in the bundle."""

        def whole(item: CheckItem) -> bool:
            return item.id in finished or finished.issuperset(item.result_ids(self.backends))

        return replace(self, items=[item for item in self.items if not whole(item)])

    def counts(self) -> dict[str, int]:
        """Return the number of items of each kind."""
        counts = Counter(item.kind.name for item in self.items)
        return {kind.called or name: counts[name] for name, kind in KINDS.items() if counts[name]}

    @property
    def seconds(self) -> float:
        """An estimate of its time on one core."""
        return sum(item.kind.seconds for item in self.items) * len(self.backends)


def plan_of(options: RunOptions) -> Plan:
    """Read the suites and make a plan. Raises InputError for mistakes in them or in the options."""
    state = machine.deciding() if options.cache else None
    expansions = Expansions(of_this_code(state)) if state else None
    files, left_out = files_of(options.suites, expansions)
    plan = Plan(
        run_options=options,
        suites={name: file.sha256 for name, file in files.items()},
        left_out=left_out,
        paths={
            name: str(file.path.absolute())
            for name, file in files.items()
            if not suite.is_shipped(file.path)
        },
        releases=registry.references(_named(options), options.reference),
        items=items_of(files, options.profile, options.seed, options.only, expansions),
        expansions=expansions,
        state=state,
    )
    if address_of(options) and any(item.kind.timed for item in plan.items):
        problem = "times and skip ratios are measured on this machine only"
        raise InputError("--executor", problem, "run them without it, into another bundle")
    if options.sandbox and plan.of("timed chains", "widths"):
        problem = "times are measured outside a sandbox, in processes that are bound to a core"
        raise InputError("--sandbox", problem, "run them without it, into another bundle")
    return plan


def _named(options: RunOptions) -> list[str]:
    """Return the names by which the backends are started. Raises InputError."""
    if not options.sandbox:
        return options.backends
    shell.refuse_missing_sandbox()
    return [engines.in_sandbox(name) for name in options.backends]


def address_of(options: RunOptions) -> str:
    """Return the address of the cluster's scheduler; "" for this machine. Raises InputError."""
    kind, _, address = options.executor.partition(":")
    if kind == "dask" and address:
        return address
    if options.executor != "local":
        raise InputError(
            f"--executor {options.executor}", "unknown executor", "use local or dask:ADDRESS"
        )
    if options.labels:
        raise InputError("--label", "needs a cluster", "use --executor dask:ADDRESS")
    return ""


def lines(plan: Plan, finished: set[str]) -> Iterator[str]:
    """Yield the lines of `run --plan`. finished: the ids that the bundle has already."""
    options = plan.run_options
    yield f"plan     profile {options.profile}, seed {options.seed}, {options.executor}"
    for name, release in plan.releases.items():
        yield f"backend  {name}, judged by {release or NEWEST}"
    for name in plan.suites:
        of = replace(plan, items=[item for item in plan.items if item.suite == name])
        if of.items or not options.only:
            yield f"suite    {name}: {_counted(of)}"
    yield from left_out(plan)
    remaining = plan.left(finished)
    if finished:
        yield f"left     {_counted(remaining)}"
    if plan.ruled:
        yield "also     every sampler timed on the first backend and on reference"
    duration = _duration(remaining.seconds)
    yield f"total    {_counted(plan)}; about {duration} on one core, nothing was run"


def left_out(plan: Plan) -> Iterator[str]:
    """Yield a line for each suite of a folder that is not run."""
    return (f"left out {name}: {why}" for name, why in plan.left_out.items())


def _counted(plan: Plan) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in plan.counts().items()) or "nothing"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
