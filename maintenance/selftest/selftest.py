"""The self-test: every planted fault must be caught, at its stage, by a case of the quick profile.

There are six kinds:
    adapters  Each is a process that breaks the protocol on one case of three. That case gets the
              expected verdict, and the other two are identical. A new worker is started if the
              old one cannot continue.
    baseline  The reference as a backend process must be identical on every case. Otherwise the
              harness reports differences that do not exist.
    correct   Engines with another arithmetic must pass with `--accept correct`. Each runs its share
              of the cases.
    parts     Each faulty part that is no sampler is checked, and so is the right one.
    engines   The faults in the workers of other engines run in the engine's environment. The
              engine itself must meet the case that catches the fault. Without its environment it
              is skipped and not counted.
    mutants   Each runs the cases that contain its sampler until two catch it at its stage. It
              runs in a process of the self-test, through the same requests, scratch file and
              comparison as any backend, or, with `processes`, as a backend process of its own.

The details are in docs/background/self-test.md.
"""

import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.late_failures import LateFailures
from sampler_parity.harness.checks.stages.block import ChainCase
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.engines.engine_file import engine_file, engine_names
from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.processes.pool import Died, Pool
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.verdicts import Accept, passing
from sampler_parity.maintenance.selftest.adapters import ADAPTERS, TRIGGER, Adapter, trial_cases
from sampler_parity.maintenance.selftest.correct_engines import (
    CorrectResult,
    correct_engines,
    pass_all,
)
from sampler_parity.maintenance.selftest.engine_faults import faults
from sampler_parity.maintenance.selftest.engine_trial import absent, try_faults
from sampler_parity.maintenance.selftest.parts import PARTS, FaultyPart
from sampler_parity.maintenance.selftest.results import (
    AdapterResult,
    BaselineResult,
    MutantResult,
    PartResult,
    SelfTestReport,
    line_of,
)

CASE_TIMEOUT_S = 60.0
HANG_TIMEOUT_S = 2.0  # for the case on which an adapter hangs; no harm if that is called early
BASELINE_CHUNK = 400
# Two files of grammar/: the others only repeat them.
_OF_THE_CORE = (
    *("parity", "origin/batches", "trie", "batch"),
    *("grammar/grammar", "grammar/grammar_lazy_patterns"),
)


def suites() -> list[str]:
    """Return the suites that must catch faults: ours, and those of the engines' models."""
    of_engines = [suite for name in engine_names() for suite in engine_file(name).model_suites]
    return [*_OF_THE_CORE, *of_engines]


def quick_cases() -> tuple[Case, ...]:
    """Return all cases of the suites of samplers and engines in the quick profile."""
    return tuple(case for path in _paths() for case in _cases_of(path))


@functools.cache
def _paths() -> list[Path]:
    return find_suites(suites())


@functools.cache
def _cases_of(path: Path) -> list[Case]:
    return expand(path, "quick")


def cases_for(mutant: Mutant) -> Iterator[Case]:
    """Yield the cases with its sampler: the one named for it, its own suite, small ones first. The
    cases of another suite are made only if none before caught it, which is rare."""
    sampler = mutant.sampler if mutant.sampler != "chain" else mutant.stage
    stems = {mutant.sampler, mutant.case.partition("/")[0]}
    of_batch = mutant.sampler == "batch"

    def fits(case: Case) -> bool:
        return case.check == "batch" if of_batch else sampler in case.samplers

    def rank(case: Case) -> tuple[bool, bool, int]:
        is_named = bool(mutant.case) and case.id.startswith(mutant.case)
        is_own = case.id.startswith(f"{mutant.sampler}/")
        work = 0
        if isinstance(case, ChainCase | GenerationCase):
            work = max(case.logits.n, 1024) * case.steps * len(case.chain) + 16 * case.n_draws
        return not is_named, not is_own, work or case.cost

    paths = _paths()
    first = [path for path in paths if path.stem in stems]
    for group in [first, *([path] for path in paths if path not in first)]:
        cases = [case for path in group for case in _cases_of(path)]
        yield from sorted(filter(fits, cases), key=rank)


def caught_by(
    mutant: Mutant, case: Case, backend: Backend, accept: Accept = "identical"
) -> MutantResult:
    """Run the case on the mutant; caught is whether it failed at the mutant's stage."""
    with accepting(accept):
        result = execute(case, [backend]).backends[backend.name]
    failed = not result.among(passing(case.required(backend.name), accept))
    where = result.stage or result.verdict
    return MutantResult(
        name=mutant.name,
        fault=mutant.fault,
        source=mutant.source,
        wanted_stage=mutant.stage,
        caught=failed and where == mutant.stage,
        case=case.id,
        step=result.step,
        stage=where if failed else "",
        verdict=result.verdict,
    )


def try_mutant(
    mutant: Mutant, backend: Backend, accept: Accept = "identical", catches: int = 1
) -> MutantResult:
    """Run cases until one, or two, catch the mutant at its stage. accept: as of `run --accept`."""
    start = time.perf_counter()
    elsewhere = tried = 0
    last = MutantResult(
        name=mutant.name,
        fault=mutant.fault,
        source=mutant.source,
        wanted_stage=mutant.stage,
        caught=False,
    )
    for case in cases_for(mutant):
        result = caught_by(mutant, case, backend, accept)
        if last.caught:
            if result.caught:
                last = last.model_copy(update={"again": case.id})
                break
            continue
        tried += 1
        if result.caught:
            last = result
            if catches == 1:
                break
        else:
            elsewhere += bool(result.stage)
    seconds = time.perf_counter() - start
    return last.model_copy(update={"tried": tried, "elsewhere": elsewhere, "seconds": seconds})


def try_adapter(adapter: Adapter, timeout_s: float = HANG_TIMEOUT_S) -> AdapterResult:
    """Run three cases, the fault on the second, on one connection."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "sampler_parity.maintenance.selftest.adapters", adapter.name]
    backend = BackendProcess(adapter.name, command)
    if adapter.on_hello and adapter.verdict == "timeout":
        backend.start_timeout_s = timeout_s
    late_failures, results = LateFailures([backend]), []
    try:
        for case in trial_cases():
            hangs = adapter.verdict == "timeout" and case.logits.n == TRIGGER
            backend.timeout_s = timeout_s if hangs else CASE_TIMEOUT_S
            results.append(execute(case, [backend]))
            late_failures.item_ended()
        charged = late_failures.blame(results)
    finally:
        backend.close()
    verdicts = [result.backends[adapter.name].verdict for result in charged]
    elsewhere = adapter.verdict if adapter.on_hello else "identical"
    return AdapterResult(
        name=f"adapter/{adapter.name}",
        fault=adapter.fault,
        wanted=adapter.verdict,
        verdicts=verdicts,
        starts=backend.starts,
        caught=verdicts == [elsewhere, adapter.verdict, elsewhere]
        and backend.starts == adapter.starts,
        seconds=time.perf_counter() - start,
    )


def false_alarms(cases: list[Case], worker: tuple[str, ...] = ("reference",)) -> list[str]:
    """Return the ids of cases on which a worker, the reference, does not do what is required."""
    backend = BackendProcess("reference", [*WORKER_COMMAND, *worker])
    try:
        results = [execute(case, [backend]) for case in cases]
    finally:
        backend.close()
    return [r.id for r in results if not r.met("reference")]


def _one_mutant(name: str, processes: bool = False) -> MutantResult:
    command = [*WORKER_COMMAND, "mutant", name]
    backend: Backend = (
        BackendProcess(f"mutant/{name}", command, timeout_s=CASE_TIMEOUT_S)
        if processes
        else InProcess(name, timeout_s=CASE_TIMEOUT_S)
    )
    try:
        return try_mutant(MUTANTS[name], backend, catches=2)
    finally:
        backend.close()


def _one_adapter(name: str) -> AdapterResult:
    return try_adapter(ADAPTERS[name])


def _one_baseline(start: int) -> BaselineResult:
    began = time.perf_counter()
    cases = list(quick_cases()[start : start + BASELINE_CHUNK])
    alarms = false_alarms(cases)
    return BaselineResult(cases=len(cases), alarms=alarms, seconds=time.perf_counter() - began)


def _one_correct(name: str, first: int, of: int) -> CorrectResult:
    return pass_all(name, quick_cases()[first::of])


def run_selftest(
    names: list[str] | None = None,
    jobs: int = 0,
    report: Callable[[str], object] | None = None,
    processes: bool = False,
) -> SelfTestReport:
    """Run the mutants and adapters named ("top_p" and "top_p/*" name all of top_p), or everything.

    The baseline runs only with everything. jobs: processes, 0 for one a core. report gets a line
    for each fault as it is done, and the score. Raises InputError for an unknown name.
    """
    begun = time.perf_counter()
    mutants, parts, adapters, engines = chosen(names or [])
    skipped = absent(engines)
    say: Callable[[str], object] = report or (lambda _line: None)
    chunks = [] if names else list(range(0, len(quick_cases()), BASELINE_CHUNK))
    broken: dict[str, AdapterResult] = {}
    baseline = BaselineResult()
    with Pool(jobs, len(adapters) + len(chunks)) as pool:
        for result in pool.results(_one_adapter, [(name,) for name in adapters]):
            broken[result.name] = result
            say(line_of(result))
        for checked in pool.results(_one_baseline, [(start,) for start in chunks]):
            baseline = _added(baseline, checked)
        engines_to_pass = [] if names else correct_engines()
        shares = [(name, i, len(engines_to_pass)) for i, name in enumerate(engines_to_pass)]
        passing_ones = list(pool.results(_one_correct, shares))
        for correct in passing_ones:
            say(correct.line())
    results = _run_mutants(mutants, jobs, processes, say)
    tried = [try_part(PARTS[name]) for name in parts]
    for part in tried:
        say(line_of(part))
    planted = []
    for engine in (name for name in engines if name not in skipped):
        for result in try_faults(engine, engines[engine]):
            planted.append(result)
            say(result.line())
    outcome = SelfTestReport(
        mutants=[results[name] for name in mutants],
        adapters=[broken[name] for name in adapters],
        parts=tried,
        engines=planted,
        skipped=skipped,
        baseline=baseline,
        correct=passing_ones,
        seconds=time.perf_counter() - begun,
    )
    for line in outcome.lines():
        say(line)
    return outcome


def _run_mutants(
    names: list[str], jobs: int, processes: bool, say: Callable[[str], object]
) -> dict[str, MutantResult]:
    """Run mutants; a mutant that kills its process is run again as a backend process."""
    results: dict[str, MutantResult] = {}
    with Pool(jobs, len(names)) as pool:
        for _, outcome in pool.each(_one_mutant, [(name, processes) for name in names]):
            if not isinstance(outcome, Died):
                results[outcome.name] = outcome
                say(line_of(outcome))
    for name in names:
        if name not in results:
            results[name] = _one_mutant(name, processes=True)
            say(line_of(results[name]))
    return results


def try_part(part: FaultyPart) -> PartResult:
    caught, alarm = part.check(part.make), part.check(part.right)
    return PartResult(name=part.name, fault=part.fault, seen=caught, alarm=alarm, cause=part.cause)


Chosen = tuple[list[str], list[str], list[str], dict[str, list[str]]]


def chosen(names: list[str]) -> Chosen:
    """Return the mutants, parts and adapters that names stand for, and the faults of each engine;
    all if there are no names."""
    of_engines = {f"engine/{name}": fault for name, fault in faults().items()}
    all_names = [*MUTANTS, *PARTS, *ADAPTERS, *of_engines]
    picked = [] if names else all_names
    for name in names:
        prefix = name.removesuffix("*").removesuffix("/")
        matching = [k for k in all_names if k == prefix or k.startswith(f"{prefix}/")]
        if not matching:
            fix = did_you_mean(name, all_names) or "`sampler-parity selftest` lists them"
            raise InputError(f"mutant {name!r}", "unknown", fix)
        picked += matching
    picked = list(dict.fromkeys(picked))
    mutants, parts, adapters = ([n for n in picked if n in k] for k in (MUTANTS, PARTS, ADAPTERS))
    engines: dict[str, list[str]] = {}
    for fault in (of_engines[name] for name in picked if name in of_engines):
        engines.setdefault(fault.engine, []).append(fault.name)
    return mutants, parts, adapters, engines


def _added(a: BaselineResult, b: BaselineResult) -> BaselineResult:
    return BaselineResult(
        cases=a.cases + b.cases, alarms=a.alarms + b.alarms, seconds=a.seconds + b.seconds
    )
