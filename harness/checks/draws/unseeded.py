"""Chains without a seed: 4294967295, LLAMA_DEFAULT_SEED, lets a sampler draw one, anew at a reset.

What such a chain selects has no reference. But two of them, and one before and after a reset,
select other tokens: on the logits of the suite they agree by chance once in 2**40 times or less.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.chronology import NEWEST


def execute_unseeded(
    case: Case,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    """A release that lacks a sampler of the chain says so."""

    def required(backend: Backend) -> list[Verdict]:
        release = releases.get(backend.name, NEWEST)
        there = all(has(sampler, release) for sampler in case.samplers)
        return case.required(backend.name) if there else ["unsupported"]

    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=3 * case.steps,
        backends={backend.name: _on_backend(case, backend) for backend in backends},
        required={backend.name: required(backend) for backend in backends},
    )


def _on_backend(case: Case, backend: Backend) -> BackendResult:
    start = time.perf_counter()
    ready, n = prepare(case), case.steps
    turns = [p.Step(row=i // 2, instance=i % 2) for i in range(2 * n)]
    anew = [p.Step(row=i, before=[("reset", 0)] if i == 0 else []) for i in range(n)]
    try:
        ran = ask.run(backend, ready.setting, ready.rows, turns + anew, instances=2, detail="token")
    except BackendFailure as failure:
        return BackendResult(verdict=failure.verdict, detail=failure.whole)
    streams = ran.tokens[: 2 * n : 2], ran.tokens[1 : 2 * n : 2], ran.tokens[2 * n :]
    said = wrong(*streams)
    wall_s = time.perf_counter() - start
    if not said:
        return BackendResult(verdict="identical", ns=ran.ns, wall_s=wall_s)
    return BackendResult(
        verdict="diverged", ns=ran.ns, wall_s=wall_s, step=0, stage=case.unseeded, detail=said
    )


def wrong(one: list[int | None], other: list[int | None], anew: list[int | None]) -> str:
    """What is wrong with the tokens of two chains, and of the first after its reset; or ''."""
    if None in (*one, *other, *anew):
        return "no token was selected"
    if one == other:
        return f"two chains without a seed select the same {len(one)} tokens"
    if one == anew:
        return f"a chain without a seed selects the same {len(one)} tokens after its reset"
    return ""
