"""Measure the skip ratios of a run: one after the other, each backend in a process of its own.

They run after the cases and alone, because they are timed. A workload that ends the process is
`crashed`, and the next one gets a new process.
"""

import time
from collections.abc import Sequence
from contextlib import closing

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.context import RunContext, heartbeat
from sampler_parity.harness.checks.item import CheckItem, result_id
from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.skip_ratio.block import Workload
from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.trie.workloads import PROMPTS, leaf_texts

# At 10,000 leaves a grammar alone takes minutes.
REQUESTS = 15  # a workload may take the time of so many: 900 s if one has 60


def measure(items: Sequence[CheckItem], context: RunContext) -> None:
    """Measure the workloads that the bundle lacks, on every backend."""
    terms = context.terms
    with heartbeat(context.progress):
        for name in terms.backends:
            with closing(registry.start(name)) as process:
                registry.expect(process, terms.files.get(name, ()))
                for item in items:
                    if result_id(item.id, name) not in context.writer.done:
                        blank = _blank(item.check, name, terms.seed)
                        blank = blank.model_copy(update={"suite": item.suite})
                        timeout_s = REQUESTS * terms.timeout_s
                        context.record([_measured(blank, process, item.check, timeout_s)])


def _measured(
    blank: SkipRatioResult, process: Backend, workload: Workload, timeout_s: float
) -> SkipRatioResult:
    start = time.monotonic()
    verdict, detail, measured = _outcome(process, workload, blank.seed, timeout_s)
    result = {
        "verdict": verdict,
        "detail": detail,
        "measured": measured,
        "checks": workload.checks(measured) if measured else [],
        "wall_s": time.monotonic() - start,
    }
    return blank.model_copy(update=result)


def _blank(workload: Workload, name: str, seed: int) -> SkipRatioResult:
    return SkipRatioResult(
        id=result_id(workload.id, name),
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


def _outcome(
    process: Backend, workload: Workload, seed: int, timeout_s: float
) -> tuple[str, str, Measured | None]:
    """Return the verdict, the detail, and the figures."""
    request = p.SkipRatioRequest(
        model=str(model_path(workload.model)),
        leaves=leaf_texts(workload.leaves),
        prompts=list(PROMPTS[: workload.prompts]),
        rounds=workload.rounds,
        seed=seed,
        delay_ms=workload.delay_ms,
    )
    watched = Watched(process)
    try:
        measured = client.skip_ratio(process, request, timeout_s)
    except BackendFailure as failure:
        details = {
            "crashed": f"the process that measured died: {failure}",
            "timeout": f"not measured within {timeout_s:g} s",
        }
        return failure.verdict, details.get(failure.verdict, str(failure)), None
    if problem := watched.problem():
        return "crashed", problem, None
    return "measured", "", measured.model_copy(update={"model": workload.model})
