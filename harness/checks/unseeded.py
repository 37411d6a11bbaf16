"""Chains without a seed: 4294967295, LLAMA_DEFAULT_SEED, lets a sampler draw one, and again at a
reset.

The tokens of such a chain have no reference. But two of them, and one before and after a reset,
select other tokens: on the logits of the suite they agree by chance once in 2**40 times or less.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pydantic import model_validator

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.stages.block import StagesCase, unseeded
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend


class UnseededCase(StagesCase):
    """A chain whose tokens cannot be predicted.

    The check has a plan of its own: two instances in turn, then one of them after a reset. A script
    would leave it without rows.
    """

    check: ClassVar[str] = "unseeded"
    shrinks = False

    @classmethod
    def fits(cls, data: Any) -> bool:
        try:
            return bool(unseeded(data.get("chain") or []))
        except AttributeError:  # no chain: its model reports it
            return False

    @model_validator(mode="after")
    def _has_no_script(self) -> "UnseededCase":
        if self.script != "plain":
            raise ValueError("remove the script, or give the seed another value than 4294967295")
        return self


def judge(
    case: UnseededCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    return result_of_each(case, 3 * case.steps, releases, backends, partial(_on, case))


def _on(case: UnseededCase, backend: Backend) -> BackendResult:
    prepared, n = prepare(case), case.steps
    turns = [p.Step(row=i // 2, instance=i % 2) for i in range(2 * n)]
    after_reset = [p.Step(row=i, before=[("reset", 0)] if i == 0 else []) for i in range(n)]
    ran = client.run(
        backend, prepared.setting, prepared.rows, turns + after_reset, instances=2, detail="token"
    )
    detail = wrong(ran.tokens[: 2 * n : 2], ran.tokens[1 : 2 * n : 2], ran.tokens[2 * n :])
    if not detail:
        return BackendResult(verdict="identical", ns=ran.ns)
    return BackendResult(
        verdict="diverged", ns=ran.ns, step=0, stage=unseeded(case.chain), detail=detail
    )


def wrong(first: list[int | None], second: list[int | None], after_reset: list[int | None]) -> str:
    """Return the error in the tokens of two chains, and of the first after its reset; or ''."""
    if None in (*first, *second, *after_reset):
        return "no token was selected"
    if first == second:
        return f"two chains without a seed select the same {len(first)} tokens"
    if first == after_reset:
        return f"a chain without a seed selects the same {len(first)} tokens after its reset"
    return ""
