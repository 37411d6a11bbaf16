"""The skip-ratio measurements of a run: one after the other, each backend in a process of its own.

They come after the cases and alone, because they are timed. What ends the process is `crashed` for
that workload, and the next gets a new process.
"""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.bundle import BundleWriter
from sampler_parity.harness.bundle.records.skip_ratio import Measured, SkipRatioResult
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.suite.blocks.skip_ratio import Workload
from sampler_parity.harness.trie.bench import Bench, run
from sampler_parity.harness.trie.workloads import PROMPTS

TIMEOUT_S = 900.0  # for one workload; at 10,000 leaves a grammar alone takes minutes
_ENGINES = ("llama.cpp", "token_trie")  # native chains that a trie can be put into

Outcome = tuple[str, str, Measured | None]  # verdict, detail, what was measured


def run_workloads(
    workloads: list[tuple[str, Workload]],
    names: list[str],
    writer: BundleWriter,
    seed: int = 0,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Measure (suite, workload) pairs that the bundle does not have yet, on every backend."""
    for name in names:
        process = _Process()
        try:
            for suite, workload in workloads:
                blank = _blank(suite, workload, name, seed)
                if blank.id not in writer.done:
                    writer.append(_measured(blank, process, workload, name, timeout_s))
        finally:
            process.close()


def result_id(workload: Workload, name: str) -> str:
    """The id of its result on a backend. Raises InputError for an unknown backend."""
    return f"{workload.id}@{registry.command_of(name)[0]}"


def _measured(
    blank: SkipRatioResult, process: "_Process", workload: Workload, name: str, timeout_s: float
) -> SkipRatioResult:
    start = time.monotonic()
    verdict, detail, found = _outcome(process, workload, name, blank.seed, timeout_s)
    result = {
        "verdict": verdict,
        "detail": detail,
        "measured": found,
        "checks": workload.checks(found) if found else [],
        "wall_s": time.monotonic() - start,
    }
    return blank.model_copy(update=result)


def _blank(suite: str, workload: Workload, name: str, seed: int) -> SkipRatioResult:
    return SkipRatioResult(
        id=result_id(workload, name),
        suite=suite,
        workload=workload.id,
        backend=registry.command_of(name)[0],
        model=workload.model,
        leaves=workload.leaves,
        prompts=workload.prompts,
        rounds=workload.rounds,
        delay_ms=workload.delay_ms,
        seed=seed,
        verdict="unsupported",
    )


class _Process:
    """A process to measure in, made again where it died."""

    def __init__(self) -> None:
        self.pool: ProcessPoolExecutor | None = None

    def measure(self, workload: Workload, build: str, seed: int, timeout_s: float) -> Outcome:
        if self.pool is None:
            spawn = multiprocessing.get_context("spawn")
            self.pool = ProcessPoolExecutor(1, mp_context=spawn)
        try:
            return self.pool.submit(measure, workload, build, seed).result(timeout_s)
        except BrokenProcessPool:
            self.pool = None
            return "crashed", "the process that measured died", None
        except TimeoutError:
            self.kill()
            return "timeout", f"not measured within {timeout_s:g} s", None

    def kill(self) -> None:
        if self.pool is not None:
            for child in list(self.pool._processes.values()):
                child.kill()
            self.close()

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()
            self.pool = None


def _outcome(
    process: _Process, workload: Workload, name: str, seed: int, timeout_s: float
) -> Outcome:
    named = registry.parse(name)
    if named.engine not in _ENGINES:
        known = "llama.cpp, llama.cpp@BUILD or llama.cpp@BUILD:DEVICE"
        return "unsupported", f"has no native chain to put a trie into: use {known}", None
    return process.measure(workload, named.of, seed, timeout_s)


def measure(workload: Workload, build: str, seed: int) -> Outcome:
    """What the process does. Raises InputError for a workload that does not fit its model; what the
    build cannot do is a result."""
    try:
        prompts = PROMPTS[: workload.prompts]
        bench = Bench(
            *(workload.model, workload.leaves, prompts), build=build, delay_ms=workload.delay_ms
        )
    except Unsupported as error:
        return "unsupported", str(error), None
    try:
        return "measured", "", run(bench, "strict-trie-ffi", workload.rounds, seed)
    except InputError as error:
        return "rejected", str(error), None
    finally:
        bench.close()
