"""One case on the reference and on every backend.

The reference runs first, in this process. Where it refuses a step (UndefinedInputError) the steps
before still count; the backend is not asked for the rest, where anything could happen.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import protocol as p
from harness.case import Case, Relation, plan
from harness.chains import complete
from harness.compare import Difference, Got, classify, identical
from harness.errors import InputError
from harness.process import BackendFailure, BackendProcess
from harness.results import BackendResult, CaseResult
from harness.verdicts import Verdict, worst
from harness.vocab_files import read_vocab, vocab_path
from reference import Candidates, Chain, UndefinedInputError, Vocab, build_chain
from reference.chain import Sampler

Trace = list[list[Candidates]]


@dataclass(frozen=True)
class Prepared:
    """A case made concrete: rows, steps, and the completed chain."""

    case: Case
    chain: p.ChainSpec
    rows: list[np.ndarray[Any, np.dtype[np.float32]]]
    steps: list[p.Step]
    instances: int
    vocab: Vocab | None
    vocab_file: str | None

    def build(self) -> Chain:
        return build_chain(self.chain, n_vocab=self.case.logits.n, vocab=self.vocab)


def prepare(case: Case) -> Prepared:
    """Raises ChainError for a chain that cannot be built, InputError for a bad fixture."""
    path = vocab_path(case.vocab) if case.vocab else None
    vocab = read_vocab(path) if path else None
    steps, instances = plan(case)
    return Prepared(
        case=case,
        chain=complete(case.chain, case.logits.n, vocab),
        rows=[case.logits.row(i) for i in range(1 + max(step.row for step in steps))],
        steps=steps,
        instances=instances,
        vocab=vocab,
        vocab_file=str(path) if path else None,
    )


def reference_trace(ready: Prepared) -> tuple[Trace, str]:
    """The candidates after each stage of each step, and why it stopped early, if it did."""
    instances = [ready.build() for _ in range(ready.instances)]
    for instance in instances:
        for token in ready.case.history:
            instance.accept(token)
    trace: Trace = []
    for step in ready.steps:
        try:
            stages = _reference_step(ready, instances, step)
        except UndefinedInputError as error:
            return trace, str(error)
        trace.append(stages)
    return trace, ""


def _reference_step(ready: Prepared, instances: list[Chain], step: p.Step) -> list[Candidates]:
    for operation, index in step.before:
        if operation == "reset":
            instances[index].reset()
        else:
            instances.append(instances[index].clone())
    chain = instances[step.instance]
    cand = Candidates.from_logits(ready.rows[step.row])
    if ready.case.detail == "token":
        chain.apply(cand)
        stages = [cand]
    else:
        stages = [stage.candidates for stage in chain.trace(cand)]
    accepted = cand.token if step.accept == "selected" else step.accept
    if accepted is not None:
        chain.accept(accepted)
    return stages


def state_before(ready: Prepared, at_step: int, at_stage: int) -> tuple[Candidates, Sampler]:
    """The candidates that a stage was given and its sampler as it was then, by running again."""
    instances = [ready.build() for _ in range(ready.instances)]
    for instance in instances:
        for token in ready.case.history:
            instance.accept(token)
    for step in ready.steps[:at_step]:
        _reference_step(ready, instances, step)
    step = ready.steps[at_step]
    for operation, index in step.before:
        if operation == "reset":
            instances[index].reset()
        else:
            instances.append(instances[index].clone())
    cand = Candidates.from_logits(ready.rows[step.row])
    for sampler in instances[step.instance].samplers[:at_stage]:
        sampler.apply(cand)
    return cand, instances[step.instance].samplers[at_stage]


def execute(
    case: Case, backends: list[BackendProcess], artifacts: Path | None = None
) -> CaseResult:
    """Run a case everywhere. Never raises for what a backend does; that is a verdict.

    artifacts: a folder for the arrays of the first stage that differs.
    """
    ready = prepare(case)
    start = time.perf_counter()
    if case.draws:
        return _execute_draws(ready, backends)
    trace, refusal = reference_trace(ready)
    reference_s = time.perf_counter() - start
    unmet = _unmet_expectation(case, trace)
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=len(trace),
        reference_s=reference_s,
        refusal=refusal,
        unmet=unmet,
        backends={b.name: _on_backend(ready, trace, b, artifacts) for b in backends},
        required={b.name: case.required(b.name) for b in backends},
    )


def _on_backend(
    ready: Prepared, trace: Trace, backend: BackendProcess, artifacts: Path | None
) -> BackendResult:
    start = time.perf_counter()
    try:
        reply = _ask_run(ready, len(trace), backend)
        result = _compare_run(ready, trace, reply, backend, artifacts)
        if result.verdict == "identical" and ready.case.relation is not None:
            result = _check_relation(ready, trace, ready.case.relation, backend, result)
    except BackendFailure as failure:
        result = BackendResult(verdict=failure.verdict, detail=str(failure))
    return result.model_copy(update={"wall_s": time.perf_counter() - start})


def _ask_run(ready: Prepared, n_steps: int, backend: BackendProcess) -> p.RunReply:
    hello = backend.hello()
    missing = sorted(set(ready.case.samplers) - set(hello.samplers))
    if missing:
        raise BackendFailure("unsupported", f"no sampler {', '.join(missing)}")
    rows = _put_rows(ready, backend)
    n, stages = ready.case.logits.n, len(ready.chain) + 1
    out = rows.at + 4 * rows.count * n
    backend.scratch.ensure(out + 12 * n * stages * max(1, n_steps))
    request = p.RunRequest(
        chain=ready.chain,
        n_vocab=n,
        vocab=ready.vocab_file,
        rows=rows,
        history=ready.case.history,
        steps=ready.steps[:n_steps],
        instances=ready.instances,
        detail=ready.case.detail,
        whole_chain="whole_chain" in hello.capabilities and ready.case.detail == "stages",
        out=out,
    )
    reply = backend.ask(request, p.RunReply)
    _check_shape(request, reply, backend)
    return reply


def _put_rows(ready: Prepared, backend: BackendProcess) -> p.Rows:
    n = ready.case.logits.n
    backend.scratch.ensure(4 * n * len(ready.rows))
    at = 0
    for row in ready.rows:
        at = backend.scratch.write(at, row)
    return p.Rows(at=0, count=len(ready.rows), n=n)


def _check_shape(request: p.RunRequest, reply: p.RunReply, backend: BackendProcess) -> None:
    """A reply that does not fit its request is a violation of the protocol."""
    expected = 0
    if request.detail == "stages":
        expected = len(request.chain) + request.whole_chain
    if len(reply.tokens) != len(request.steps) or (
        expected and [len(stages) for stages in reply.stages] != [expected] * len(request.steps)
    ):
        raise backend.violation("the reply has another number of steps or stages")
    size = backend.scratch.size()
    for stages in reply.stages:
        for stage in stages:
            if stage.at < 0 or stage.n < 0 or stage.at + 12 * stage.n > size:
                raise backend.violation("the reply points outside the scratch file")


def _got(stage: p.StageResult, backend: BackendProcess) -> Got:
    view, at, n = backend.scratch.view, stage.at, stage.n
    return Got(
        ids=view(at, n, np.int32),
        logits=view(at + 4 * n, n, np.float32),
        p=view(at + 8 * n, n, np.float32),
        sorted=stage.sorted,
        selected=stage.selected,
    )


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
            want, got = want_stages[-1 if whole else j], _got(stage, backend)
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


def _check_relation(
    ready: Prepared,
    trace: Trace,
    relation: Relation,
    backend: BackendProcess,
    result: BackendResult,
) -> BackendResult:
    """Run the related case on the same backend and compare its last stage with the reference's.

    The backend was identical to the reference, so the reference's trace stands for both runs.
    """
    case, permutation = ready.case, None
    if relation.kind == "permuted":
        permutation = np.random.default_rng(relation.seed).permutation(case.logits.n)
        rows = [row[permutation] for row in ready.rows]
        other = Prepared(**(vars(ready) | {"rows": rows}))
    else:
        chain = complete(relation.chain, case.logits.n, ready.vocab)
        changed = case.model_copy(update={"chain": relation.chain})
        other = Prepared(**(vars(ready) | {"chain": chain, "case": changed}))
    reply = _ask_run(other, len(trace), backend)
    same = []
    for want_stages, stages in zip(trace, reply.stages, strict=True):
        got = _got(stages[len(other.chain) - 1], backend) if other.chain else None
        same.append(_related(want_stages[-1], got, permutation))
    holds = any(not s for s in same) if relation.kind == "differs_from" else all(same)
    if holds:
        return result
    step = 0 if relation.kind == "differs_from" else same.index(False)
    detail = f"relation {relation.kind} does not hold"
    return result.model_copy(
        update={"verdict": "diverged", "stage": "relation", "step": step, "detail": detail}
    )


def _related(want: Candidates, got: Got | None, permutation: Any) -> bool:
    if got is None:
        return want.selected == -1
    if permutation is None:
        return (
            np.array_equal(want.ids, got.ids)
            and want.token == got.token
            and bool(((want.logits == got.logits) | np.isnan(want.logits)).all())
        )
    return set(want.ids.tolist()) == set(permutation[got.ids].tolist())


def _execute_draws(ready: Prepared, backends: list[BackendProcess]) -> CaseResult:
    """Many draws from one state: the same token every time."""
    start = time.perf_counter()
    chain, row, n = ready.build(), ready.rows[0], ready.case.draws
    for token in ready.case.history:
        chain.accept(token)
    want = np.empty(n, np.int32)
    for i in range(n):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        want[i] = -1 if cand.token is None else cand.token
    reference_s = time.perf_counter() - start
    results = {}
    for backend in backends:
        start = time.perf_counter()
        try:
            result = _draws_on(ready, want, backend)
        except BackendFailure as failure:
            result = BackendResult(verdict=failure.verdict, detail=str(failure))
        results[backend.name] = result.model_copy(update={"wall_s": time.perf_counter() - start})
    return CaseResult(
        id=ready.case.id,
        samplers=ready.case.samplers,
        steps=n,
        draws=n,
        reference_s=reference_s,
        backends=results,
        required={b.name: ready.case.required(b.name) for b in backends},
    )


def _draws_on(ready: Prepared, want: Any, backend: BackendProcess) -> BackendResult:
    if "draws" not in backend.hello().capabilities:
        raise BackendFailure("unsupported", "no draws")
    rows, n = _put_rows(ready, backend), ready.case.draws
    out = rows.at + 4 * rows.count * rows.n
    backend.scratch.ensure(out + 4 * n)
    request = p.DrawsRequest(
        chain=ready.chain,
        n_vocab=rows.n,
        vocab=ready.vocab_file,
        rows=rows,
        history=ready.case.history,
        n=n,
        out=out,
    )
    reply = backend.ask(request, p.DrawsReply)
    if backend.scratch.size() < out + 4 * n:
        raise backend.violation("the scratch file was cut")
    got = backend.scratch.view(out, n, np.int32)
    differs = np.flatnonzero(want != got)
    if len(differs) == 0:
        return BackendResult(verdict="identical", ns=reply.ns)
    at = int(differs[0])
    return BackendResult(
        verdict="diverged",
        ns=reply.ns,
        step=at,
        stage=ready.case.samplers[-1],
        stage_index=len(ready.chain) - 1,
        what="token",
        values={"got": int(got[at]), "expected": int(want[at]), "differing": len(differs)},
    )


def _unmet_expectation(case: Case, trace: Trace) -> str:
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
