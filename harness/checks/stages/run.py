"""Judge a case on given logits: every stage of every step, or many draws, against the reference.

The reference runs first, in this process. If it refuses a step (UndefinedInputError), the steps
before still count; the backend is not asked for the rest, which is undefined.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.draws import compare_draws
from sampler_parity.harness.checks.outcome import outcome
from sampler_parity.harness.checks.stages.arrays import room, save
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.checks.stages.correct import judge_run, result_of
from sampler_parity.harness.checks.stages.own_random import draws_own, has_own, may_lose_token
from sampler_parity.harness.checks.stages.prefixes import (
    by_prefixes,
    by_written_rows,
    stages_by_prefixes,
)
from sampler_parity.harness.checks.stages.prepared import (
    Prepared,
    Trace,
    reference_trace,
    state_before,
)
from sampler_parity.harness.checks.stages.reference_cache import (
    Expected,
    as_shown,
    expected_of,
    known_of,
)
from sampler_parity.harness.checks.stages.targets import (
    ReferenceResult,
    Targets,
    check_relation,
    reference_result,
)
from sampler_parity.harness.checks.stages.tie_replay import Followed, follow
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.correct.bias import is_tried, narrower
from sampler_parity.harness.correct.softmax import is_defined
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Ran
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.strict import like
from sampler_parity.harness.verdicts import BY_ANY_SORT, Verdict, worst
from sampler_parity.reference import platforms


def judge(
    case: StagesCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    cached = known_of(case)
    prepared = cached.prepared
    targets = Targets(prepared)
    expected = expected_of(cached, partial(_unmet, prepared))

    def on(backend: Backend) -> tuple[BackendResult, list[Verdict]]:
        release = releases.get(backend.name)
        if release is None:
            return on_backend(prepared, expected, backend, artifacts), case.required(backend.name)
        return targets.judge(
            backend, release, lambda case, want: on_backend(case, want, backend, artifacts)
        )

    judged = {backend.name: on(backend) for backend in backends}
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=expected.steps,
        draws=case.n_draws,
        reference_s=expected.seconds,
        refusal=expected.refusal,
        unmet=expected.unmet,
        backends={name: result for name, (result, _) in judged.items()},
        required={name: required for name, (_, required) in judged.items()},
    )


def _unmet(prepared: Prepared, trace: Trace) -> str:
    """Compare with a published result, which is that of x86-64 Linux, wherever the backends run."""
    if prepared.case.n_draws or prepared.case.expect is None:
        return ""
    if platforms.current().name == platforms.DEFAULT:
        return unmet(prepared.case, trace)
    with platforms.on(platforms.DEFAULT):
        return unmet(prepared.case, reference_result(prepared).trace)


def on_backend(
    prepared: Prepared,
    expected: ReferenceResult | Expected,
    backend: Backend,
    artifacts: Path | None,
) -> BackendResult:
    """Return the case on a backend, compared with the reference."""
    if isinstance(expected, Expected) and backend.name in expected.case.settled:
        return expected.case.settled.pop(backend.name)
    drawn = prepared.case.n_draws and not expected.refusal
    result = outcome(
        (lambda: _draws_on(prepared, expected, backend))
        if drawn
        else (lambda: _run_on(prepared, expected, backend, artifacts))
    )
    if result.verdict == "rejected" and fairly() and _has_undefined(prepared, expected, backend):
        return like(result, verdict="undefined")
    return result


def _has_undefined(
    prepared: Prepared, expected: ReferenceResult | Expected, backend: Backend
) -> bool:
    """Return whether a stage has an undefined input, which a backend may refuse. By random numbers
    of its own xtc may act in any step, and a filter behind the draw may remove the drawn token."""
    if has_own(backend) and may_lose_token(prepared.case.samplers):
        return True
    trace = (expected.computed if isinstance(expected, Expected) else expected).trace
    inputs = [*prepared.rows, *(c.logits for stages in trace for c in stages[:-1])]
    if has_own(backend) and "xtc" in prepared.case.samplers:
        chain = [
            {k: v | ({"p": 1} if k == "xtc" else {}) for k, v in s.items()} for s in prepared.chain
        ]
        acting, refusal = reference_trace(replace(prepared, chain=chain))
        inputs += [c.logits for stages in acting for c in stages[:-1]]
        if refusal:
            return True
    return not all(map(is_defined, inputs))


def _draws_on(
    prepared: Prepared, expected: ReferenceResult | Expected, backend: Backend
) -> BackendResult:
    got = client.draws(backend, prepared.setting, prepared.rows[0], prepared.case.n_draws)
    if isinstance(expected, Expected):
        if expected.answer is not None and expected.answer.is_of_draws(got.tokens):
            return BackendResult(verdict="identical", ns=got.ns)
        expected = expected.computed
    assert expected.draws is not None
    return compare_draws(prepared, expected.draws, got, backend)


def _run_on(
    prepared: Prepared,
    expected: ReferenceResult | Expected,
    backend: Backend,
    artifacts: Path | None,
) -> BackendResult:
    answer = expected.answer if isinstance(expected, Expected) else None
    run = prepared.run(expected.steps, answer.is_of_table if answer else None)
    cached = expected.case if isinstance(expected, Expected) else None
    # batching has asked many cases at once: this reply is not asked for again
    ran = cached.replies.pop(backend.name, None) if cached else None
    if isinstance(ran, BackendFailure):
        raise ran
    ran = ran or client.one(backend, run)
    if answer and answer.is_of(ran):
        return BackendResult(verdict="identical", ns=ran.ns)
    if isinstance(expected, Expected):
        expected = expected.computed
    result = _compared(prepared, expected.trace, ran, backend, artifacts)
    return by_written_rows(prepared, expected.trace, backend, result)


def _compared(
    prepared: Prepared, trace: Trace, ran: Ran, backend: Backend, artifacts: Path | None
) -> BackendResult:
    if draws_own(backend, prepared.case.samplers):
        return _with_own_draws(prepared, trace, ran, backend, artifacts)
    if fairly():
        return _fairly(prepared, trace, ran, backend)
    followed = Followed()
    result = _compare_run(prepared, trace, ran, backend.name, artifacts, followed)
    # the end of the chain cannot show a tie of an earlier stage; its prefixes can
    if result.stage == "chain" and "no_stages" in backend.hello().capabilities:
        with suppress(BackendFailure):  # which by_prefixes reports
            staged = stages_by_prefixes(prepared, ran, backend)
            compared = _compare_run(prepared, trace, staged, backend.name, artifacts, followed)
            result = compared if followed.places else result
    if result.stage == "chain":
        return by_prefixes(prepared, trace, backend, result)
    if result.verdict in BY_ANY_SORT and prepared.case.relation is not None:
        return check_relation(
            prepared, followed.trace or trace, prepared.case.relation, backend, result
        )
    return result


def _with_own_draws(
    prepared: Prepared, trace: Trace, ran: Ran, backend: Backend, artifacts: Path | None
) -> BackendResult:
    """Compare a run whose draws are the backend's own. A relation to another run, which draws anew,
    is not checked."""
    followed = Followed()
    follow(prepared, trace, ran, followed, own_random=True)
    if followed.places and fairly():
        return _by_specification(prepared, trace, ran, backend)
    if followed.places:
        return _result_of(prepared, ran, backend.name, artifacts, followed)
    return BackendResult(verdict="identical", ns=ran.ns)


def _fairly(prepared: Prepared, trace: Trace, ran: Ran, backend: Backend) -> BackendResult:
    """Compare a run to the bit; if it is not identical, judge it by the specification."""
    if _all_identical(trace, ran):
        result = BackendResult(verdict="identical", ns=ran.ns)
    else:
        result = _by_specification(prepared, trace, ran, backend)
    if result.verdict in BY_ANY_SORT and prepared.case.relation is not None:
        return check_relation(prepared, trace, prepared.case.relation, backend, result)
    return result


def _by_specification(
    prepared: Prepared, trace: Trace, ran: Ran, backend: Backend
) -> BackendResult:
    hello, own_random = backend.hello(), has_own(backend)
    if "no_stages" in hello.capabilities:
        if own_random and "xtc" in prepared.case.samplers:
            detail = "it shows the end of a chain alone, and xtc draws with its own random numbers"
            return BackendResult(verdict="skipped", ns=ran.ns, detail=detail)
        ran = stages_by_prefixes(prepared, ran, backend)
    elif prepared.case.detail == "token":
        steps = prepared.steps[: len(trace)]
        staged = client.run(
            backend, prepared.setting, prepared.rows, steps, instances=prepared.instances
        )
        # own draws are others in each run
        ran = staged if own_random else replace(ran, stages=staged.stages)
    judged = judge_run(prepared, ran, len(trace), hello.arithmetic, own_random=own_random)
    result = result_of(judged, ran.ns)
    if judged.wrong is None and judged.rounded and is_tried(prepared.case.id):
        fits = [
            name
            for name, arithmetic in narrower(hello.arithmetic).items()
            if judge_run(prepared, ran, len(trace), arithmetic, own_random=own_random).wrong is None
        ]
        result = result.model_copy(update={"fits": fits})
    return result


def _all_identical(trace: Trace, ran: Ran) -> bool:
    """Return whether each stage that is shown, and each token, is the reference's."""
    for want_stages, got_stages, token in zip(trace, ran.stages, ran.tokens, strict=True):
        same = all(map(identical, as_shown(want_stages, len(got_stages)), got_stages))
        if not same or token != want_stages[-1].token:
            return False
    return True


def _compare_run(
    prepared: Prepared,
    trace: Trace,
    ran: Ran,
    backend: str,
    artifacts: Path | None,
    followed: Followed,
) -> BackendResult:
    """Compare a run with the trace. followed: filled if the backend decides otherwise between equal
    ones."""
    verdicts: list[Verdict] = ["identical"]
    first: dict[str, Any] = {}
    for i, (want_stages, token) in enumerate(zip(trace, ran.tokens, strict=True)):
        for j, got in enumerate(ran.stages[i]):
            is_end = j == len(want_stages) or len(ran.stages[i]) < len(want_stages)
            want = want_stages[-1 if is_end else j]
            if identical(want, got):
                continue
            before, sampler = state_before(prepared, i, len(want_stages) - 1 if is_end else j)
            difference = classify(want, got, before, sampler)
            if not is_end and (difference.ties or difference.verdict == "reordered"):
                follow(prepared, trace, ran, followed)
                return _result_of(prepared, ran, backend, artifacts, followed)
            if difference.ties:  # the chain as one object, and not its stages
                difference = replace(difference, verdict="diverged", ties=False)
            verdicts.append(difference.verdict)
            if not first:
                at = len(want_stages) if is_end else j
                first = _place(i, "chain" if is_end else sampler.name, at, difference)
                if artifacts is not None and room(artifacts, backend, first["stage"]):
                    save(artifacts, prepared.case.id, backend, want, got)
            if difference.verdict == "diverged":
                return _result("diverged", ran, first)
        if token != want_stages[-1].token and verdicts == ["identical"]:
            values = {"got": token, "expected": want_stages[-1].token}
            difference = Difference("diverged", "token", values)
            return _result("diverged", ran, _place(i, "token", len(want_stages), difference))
    return _result(worst(verdicts), ran, first)


def _result_of(
    prepared: Prepared, ran: Ran, backend: str, artifacts: Path | None, followed: Followed
) -> BackendResult:
    """Return the result of a run that was judged from the backend's own choices."""
    mismatch, verdict = followed.first, followed.verdict
    folder = artifacts if artifacts and room(artifacts, backend, mismatch.stage) else None
    if folder is not None and mismatch.want is not None and mismatch.got is not None:
        save(folder, prepared.case.id, backend, mismatch.want, mismatch.got)
    first = _place(mismatch.step, mismatch.stage, mismatch.index, mismatch.difference)
    if mismatch.difference.verdict != followed.places[0].difference.verdict:
        tie = followed.places[0]
        where = f"at step {tie.step + 1}, {tie.stage}"
        first["detail"] = f"judged from what it kept of equal ones {where}"
    return _result(verdict, ran, first | {"ties": followed.ties and verdict != "tied"})


def _place(step: int, stage: str, index: int, difference: Difference) -> dict[str, Any]:
    return {
        "step": step,
        "stage": stage,
        "stage_index": index,
        "what": difference.what,
        "values": p.plain(difference.values),
    }


def _result(verdict: Verdict, ran: Ran, first: dict[str, Any]) -> BackendResult:
    return BackendResult(verdict=verdict, ns=ran.ns, **first)


def unmet(case: StagesCase, trace: Trace) -> str:
    """Return how the reference's last candidates differ from the known result; or ''."""
    expect = case.expect
    if expect is None:
        return ""
    if not trace:
        return "expected a result, the reference refused the input"
    last = trace[-1][-1]
    actual: dict[str, Any] = {
        "ids": last.ids.tolist(),
        "n": len(last),
        "first": int(last.ids[0]) if len(last) else None,
        "last": int(last.ids[-1]) if len(last) else None,
        "token": last.token,
    }
    for name, value in actual.items():
        expected = getattr(expect, name)
        if expected is not None and expected != value:
            return f"{name}: expected {expected}, got {value}"
    finite = set(last.ids[last.logits != -np.inf].tolist())
    wrong = sorted({*expect.masked} & finite) + sorted({*expect.allowed} - finite)
    if wrong:
        is_masked = "masked" if wrong[0] not in finite else "not masked"
        return f"token {wrong[0]} is {is_masked}"
    if expect.probs is not None:
        expected = np.array(expect.probs)
        if len(expected) != len(last) or not (abs(last.p - expected) < 1e-5).all():
            return f"probs: expected {expect.probs}, got {last.p.tolist()}"
    return ""
