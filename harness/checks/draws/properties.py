"""Properties of an engine, judged by its tokens alone: which can be drawn, and what a seed does.

So one that hides its stages is judged as one that shows them, and whatever its random numbers are.
A case says which tokens its chain leaves. In DRAWS draws each of them comes up, and no other: one
that has a probability of LEAST or more stays away once in 5e10 cases.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.draws.run import sort_of_equal_ones
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.llama_cpp.signatures import has
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates
from sampler_parity.reference.chronology import NEWEST

DRAWS = 256
LEAST = 0.1  # (1 - LEAST) ** DRAWS is 2e-12, for at most ten tokens of a case
NEVER = 1e-12  # what is less likely counts as not left

Releases = Mapping[str, str]
Judge = Callable[[Backend], BackendResult]


def way_of(backend: Backend) -> str:
    """The request by which a backend draws: the one that takes many at once, if it has it."""
    return "draws" if "draws" in backend.hello().capabilities else "run"


def execute_kept(
    case: Case, backends: Sequence[Backend], artifacts: Path | None, releases: Releases
) -> CaseResult:
    ready = prepare(case)
    result = _result(case, DRAWS, releases, backends, lambda backend: _kept_on(ready, backend))
    return result.model_copy(update={"draws": DRAWS, "unmet": _unmet(ready)})


def execute_streams(
    case: Case, backends: Sequence[Backend], artifacts: Path | None, releases: Releases
) -> CaseResult:
    return _result(
        case, 2 * case.steps, releases, backends, lambda backend: _streams_on(case, backend)
    )


def reachable(ready: Prepared, stages: slice = slice(None)) -> dict[int, float]:
    """The tokens that the reference can draw, with their probabilities. stages: of the chain."""
    cand = Candidates.from_logits(ready.rows[0])
    for sampler in ready.build().samplers[stages]:
        sampler.apply(cand)
    if ready.case.samplers[-1] == "greedy":
        return {} if cand.token is None else {cand.token: 1.0}
    return {int(id): float(p) for id, p in zip(cand.ids, cand.p, strict=True) if p > NEVER}


def _unmet(ready: Prepared) -> str:
    """What the reference does not meet of what the case says; or ''."""
    assert ready.case.expect is not None
    expected, left = ready.case.expect.kept, reachable(ready)
    if sorted(left) != sorted(expected or []):
        return f"kept: expected {expected}, got {sorted(left)}"
    rare = [id for id, share in left.items() if share < LEAST]
    return f"token {rare[0]} is drawn too rarely to be missed" if rare else ""


def _kept_on(ready: Prepared, backend: Backend) -> BackendResult:
    case, row = ready.case, ready.rows[0]
    assert case.expect is not None
    setting = replace(ready.setting, chain=complete(case.chain_on(backend.name), case.logits.n))
    if way_of(backend) == "draws":
        drawn = ask.draws(backend, setting, row, DRAWS)
        tokens, ns = drawn.tokens.tolist(), drawn.ns
    else:
        steps = [p.Step(row=0, accept=None) for _ in range(DRAWS)]
        ran = ask.run(backend, setting, [row], steps, detail="token")
        tokens, ns = [-1 if token is None else token for token in ran.tokens], ran.ns
    got, expected = sorted(set(tokens)), sorted(case.expect.kept or [])
    if got == expected:
        return BackendResult(verdict="identical", ns=ns)
    foreign = [token for token in got if not 0 <= token < case.logits.n]
    if foreign:
        said = "no token was drawn" if foreign == [-1] else f"token {foreign[0]} is none of them"
        return _difference("diverged", ns, case, got, expected, said)
    alike = sorted(row[got].tolist()) == sorted(row[expected].tolist())
    if alike and sort_of_equal_ones(ready) is not None:
        return _difference("tied", ns, case, got, expected, "as many, others of equal logits")
    untouched = len(case.chain) > 1 and got == sorted(reachable(ready, slice(-1, None)))
    said = "the same as without what stands before the draw" if untouched else ""
    return _difference("diverged", ns, case, got, expected, said)


def _difference(
    verdict: Verdict, ns: int, case: Case, got: list[int], expected: list[int], said: str
) -> BackendResult:
    counts = {"got": len(got), "expected": len(expected)}
    return BackendResult(
        verdict=verdict,
        ns=ns,
        step=0,
        stage=_property(case),
        what="drawn",
        values={"got": got, "expected": expected, "survivors": counts},
        detail=said,
    )


def _streams_on(case: Case, backend: Backend) -> BackendResult:
    ready, n = prepare(case), case.steps
    chain = complete(case.chain_on(backend.name), case.logits.n)
    setting, rows = replace(ready.setting, chain=chain), ready.rows
    instance = [p.Step(row=i) for i in range(n)]
    if case.streams == "other_seed":
        other = replace(setting, chain=_other_seed(chain))
        runs = [ask.run(backend, each, rows, instance, detail="token") for each in (setting, other)]
        one, two, ns = runs[0].tokens, runs[1].tokens, runs[0].ns + runs[1].ns
    elif case.streams == "reset":
        anew = [p.Step(row=i, before=[("reset", 0)] if i == 0 else []) for i in range(n)]
        ran = ask.run(backend, setting, rows, instance + anew, detail="token")
        one, two, ns = ran.tokens[:n], ran.tokens[n:], ran.ns
    else:
        turns = [p.Step(row=i // 2, instance=i % 2) for i in range(2 * n)]
        ran = ask.run(backend, setting, rows, turns, instances=2, detail="token")
        one, two, ns = ran.tokens[::2], ran.tokens[1::2], ran.ns
    said = wrong(case, one, two)
    if not said:
        return BackendResult(verdict="identical", ns=ns)
    return BackendResult(verdict="diverged", ns=ns, step=0, stage=_property(case), detail=said)


def wrong(case: Case, one: list[int | None], two: list[int | None]) -> str:
    """What is wrong with the tokens of two chains, or of one before and after its reset; or ''."""
    if None in (*one, *two):
        return "no token was selected"
    if len(set(one)) == 1:
        return f"the same token {len(one)} times: no draw"
    if case.streams == "other_seed":
        return f"another seed draws the same {len(one)} tokens" if one == two else ""
    if one == two:
        return ""
    at = next(i for i, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    what = "a reset does not begin anew" if case.streams == "reset" else "the same seed differs"
    return f"{what}: token {at + 1} is {one[at]}, then {two[at]}"


def _other_seed(chain: p.ChainSpec) -> p.ChainSpec:
    """Every seed of it one larger."""
    return [
        {
            name: {key: v + 1 if key.startswith("seed") else v for key, v in parameters.items()}
            for name, parameters in stage.items()
        }
        for stage in chain
    ]


def _property(case: Case) -> str:
    """The suite is named for the property, and the case for the suite."""
    return case.id.partition("/")[0]


def _result(
    case: Case, steps: int, releases: Releases, backends: Sequence[Backend], judge: Judge
) -> CaseResult:
    """A release that lacks a sampler of the chain says so."""

    def required(backend: Backend) -> list[Verdict]:
        release = releases.get(backend.name, NEWEST)
        there = all(has(sampler, release) for sampler in case.samplers)
        return case.required(backend.name) if there else ["unsupported"]

    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=steps,
        backends={backend.name: _timed(judge, backend) for backend in backends},
        required={backend.name: required(backend) for backend in backends},
    )


def _timed(judge: Judge, backend: Backend) -> BackendResult:
    start = time.perf_counter()
    try:
        result = judge(backend)
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=failure.whole)
    return result.model_copy(update={"wall_s": time.perf_counter() - start})
