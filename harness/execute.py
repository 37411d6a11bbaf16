"""One case on the reference and on every backend.

The reference runs first, in this process. Where it refuses a step (UndefinedInputError) the steps
before still count; the backend is not asked for the rest, where anything could happen.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from harness import protocol as p
from harness.backend_run import ask_run, got_of
from harness.case import Case
from harness.compare import Difference, Got, classify, identical
from harness.draws import execute_draws
from harness.errors import InputError
from harness.generate import execute_generate
from harness.logits import Decoded
from harness.process import BackendFailure, BackendProcess
from harness.reference_run import Prepared, Trace, prepare, reference_trace, state_before
from harness.relations import check_relation
from harness.results import BackendResult, CaseResult
from harness.verdicts import Verdict, worst
from reference import Candidates


def execute(
    case: Case, backends: list[BackendProcess], artifacts: Path | None = None
) -> CaseResult:
    """Run a case everywhere. Never raises for what a backend does; that is a verdict.

    artifacts: a folder for the arrays of the first stage that differs.
    """
    if isinstance(case.logits, Decoded):
        return execute_generate(case, case.logits, backends, artifacts)
    ready = prepare(case)
    start = time.perf_counter()
    if case.draws:
        return execute_draws(ready, backends)
    trace, refusal = reference_trace(ready)
    reference_s = time.perf_counter() - start
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=len(trace),
        reference_s=reference_s,
        refusal=refusal,
        unmet=unmet(case, trace),
        backends={b.name: _on_backend(ready, trace, b, artifacts) for b in backends},
        required={b.name: case.required(b.name) for b in backends},
    )


def _on_backend(
    ready: Prepared, trace: Trace, backend: BackendProcess, artifacts: Path | None
) -> BackendResult:
    start = time.perf_counter()
    try:
        reply = ask_run(ready, len(trace), backend)
        result = _compare_run(ready, trace, reply, backend, artifacts)
        if result.verdict == "identical" and ready.case.relation is not None:
            result = check_relation(ready, trace, ready.case.relation, backend, result)
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=str(failure))
    return result.model_copy(update={"wall_s": time.perf_counter() - start})


def _compare_run(
    ready: Prepared,
    trace: Trace,
    reply: p.RunReply,
    backend: BackendProcess,
    artifacts: Path | None,
) -> BackendResult:
    verdicts: list[Verdict] = ["identical"]
    first: dict[str, Any] = {}
    for i, (want_stages, token) in enumerate(zip(trace, reply.tokens, strict=True)):
        for j, stage in enumerate(reply.stages[i] if reply.stages else []):
            whole = j == len(want_stages)
            want, got = want_stages[-1 if whole else j], got_of(stage, backend)
            if identical(want, got):
                continue
            before, sampler = state_before(ready, i, len(want_stages) - 1 if whole else j)
            difference = classify(want, got, before, sampler)
            verdicts.append(difference.verdict)
            if not first:
                first = _place(i, "chain" if whole else sampler.name, j, difference)
                if artifacts is not None:
                    _save(artifacts, ready.case.id, backend.name, want, got)
            if difference.verdict == "diverged":
                return _result("diverged", reply, first)
        if token != want_stages[-1].token and verdicts == ["identical"]:
            values = {"got": token, "expected": want_stages[-1].token}
            difference = Difference("diverged", "token", values)
            return _result("diverged", reply, _place(i, "token", len(want_stages), difference))
    return _result(worst(verdicts), reply, first)


def _save(folder: Path, case: str, backend: str, want: Candidates, got: Got) -> None:
    """The arrays of a stage that differs, as artifacts/CASE.BACKEND.npz."""
    path = folder / artifact_name(case, backend)
    try:
        np.savez_compressed(
            path,
            ids=want.ids,
            logits=want.logits,
            p=want.p,
            got_ids=got.ids,
            got_logits=got.logits,
            got_p=got.p,
        )
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InputError(
            path, f"cannot write: {error.strerror}", "free space, then run with --resume"
        ) from None


def artifact_name(case: str, backend: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{case}.{backend}") + ".npz"


def _place(step: int, stage: str, index: int, difference: Difference) -> dict[str, Any]:
    return {
        "step": step,
        "stage": stage,
        "stage_index": index,
        "what": difference.what,
        "values": p.plain(difference.values),
    }


def _result(verdict: Verdict, reply: p.RunReply, first: dict[str, Any]) -> BackendResult:
    return BackendResult(verdict=verdict, ns=reply.ns, **first)


def unmet(case: Case, trace: Trace) -> str:
    """What the reference's last candidates do not meet of what is known from elsewhere; or ''."""
    expect = case.expect
    if expect is None:
        return ""
    if not trace:
        return "expected a result, the reference refused the input"
    last = trace[-1][-1]
    found: dict[str, Any] = {
        "ids": last.ids.tolist(),
        "n": len(last),
        "first": int(last.ids[0]) if len(last) else None,
        "last": int(last.ids[-1]) if len(last) else None,
        "token": last.token,
    }
    for name, value in found.items():
        wanted = getattr(expect, name)
        if wanted is not None and wanted != value:
            return f"{name}: expected {wanted}, got {value}"
    if expect.probs is not None:
        wanted = np.array(expect.probs)
        if len(wanted) != len(last) or not (abs(last.p - wanted) < 1e-5).all():
            return f"probs: expected {expect.probs}, got {last.p.tolist()}"
    return ""
