"""Check which tokens can be drawn: a property of an engine, judged by its tokens alone.

So engines with hidden stages and with their own random numbers can be judged. A case names the
tokens that its chain leaves. In DRAWS draws each of them must come up, and no other. A token with a
probability of LEAST or more is missed once in 5e10 cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import TokensCase, property_of, result_of_each
from sampler_parity.harness.checks.draws import sort_of_equal_ones
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.strict import Strict, Tokens
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates


class Support(Strict):
    """The tokens that a chain leaves."""

    kept: Tokens
    """ids that can be drawn, in any order"""


class SupportCase(TokensCase):
    """A chain on one row, drawn from often."""

    check: ClassVar[str] = "kept"
    chosen_by = ("expect.kept",)
    requests = ()  # drawn by whichever request is claimed
    shrinks = False

    expect: Support
    """the tokens that the chain leaves"""


DRAWS = 256
LEAST = 0.1  # (1 - LEAST) ** DRAWS is 2e-12, for at most ten tokens of a case
NEVER = 1e-12  # a less likely token counts as removed


def way_of(backend: Backend) -> str:
    """Return the request by which a backend draws: the one for many draws, if it has it."""
    return "draws" if "draws" in backend.hello().capabilities else "run"


def judge(
    case: SupportCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    prepared = prepare(case)
    result = result_of_each(case, DRAWS, releases, backends, partial(_on, prepared))
    return result.model_copy(update={"draws": DRAWS, "unmet": _unmet(prepared)})


def reachable(prepared: Prepared[SupportCase], stages: slice = slice(None)) -> dict[int, float]:
    """Return the tokens that the reference can draw, with their probabilities. stages: of the
    chain."""
    cand = Candidates.from_logits(prepared.rows[0])
    for sampler in prepared.build().samplers[stages]:
        sampler.apply(cand)
    if prepared.case.samplers[-1] == "greedy":
        return {} if cand.token is None else {cand.token: 1.0}
    return {int(id): float(p) for id, p in zip(cand.ids, cand.p, strict=True) if p > NEVER}


def _unmet(prepared: Prepared[SupportCase]) -> str:
    """Return how the reference differs from the expectation of the case; or ''."""
    expected, remaining = prepared.case.expect.kept, reachable(prepared)
    if sorted(remaining) != sorted(expected):
        return f"kept: expected {expected}, got {sorted(remaining)}"
    rare = [id for id, share in remaining.items() if share < LEAST]
    return f"token {rare[0]} is drawn too rarely to be missed" if rare else ""


def _on(prepared: Prepared[SupportCase], backend: Backend) -> BackendResult:
    case, row = prepared.case, prepared.rows[0]
    setting = replace(prepared.setting, chain=complete(case.chain_on(backend.name), case.logits.n))
    if way_of(backend) == "draws":
        drawn = client.draws(backend, setting, row, DRAWS)
        tokens, ns = drawn.tokens.tolist(), drawn.ns
    else:
        steps = [p.Step(row=0, accept=None) for _ in range(DRAWS)]
        ran = client.run(backend, setting, [row], steps, detail="token")
        tokens, ns = [-1 if token is None else token for token in ran.tokens], ran.ns
    got, expected = sorted(set(tokens)), sorted(case.expect.kept)
    if got == expected:
        return BackendResult(verdict="identical", ns=ns)
    unexpected = [token for token in got if not 0 <= token < case.logits.n]
    if unexpected:
        detail = (
            "no token was drawn" if unexpected == [-1] else f"token {unexpected[0]} is none of them"
        )
        return _difference("diverged", ns, case, got, expected, detail)
    same_logits = sorted(row[got].tolist()) == sorted(row[expected].tolist())
    if same_logits and sort_of_equal_ones(prepared) is not None:
        return _difference("tied", ns, case, got, expected, "as many, others of equal logits")
    untouched = len(case.chain) > 1 and got == sorted(reachable(prepared, slice(-1, None)))
    detail = "the same as without what stands before the draw" if untouched else ""
    return _difference("diverged", ns, case, got, expected, detail)


def _difference(
    verdict: Verdict, ns: int, case: SupportCase, got: list[int], expected: list[int], detail: str
) -> BackendResult:
    counts = {"got": len(got), "expected": len(expected)}
    return BackendResult(
        verdict=verdict,
        ns=ns,
        step=0,
        stage=property_of(case),
        what="drawn",
        values={"got": got, "expected": expected, "survivors": counts},
        detail=detail,
    )
