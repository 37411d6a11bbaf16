"""Generation: a backend decodes and samples, the reference samples the same logits.

The logits come from the backend, step by step; every token is compared. Up to the first difference
both chains have accepted the same tokens. The comparison ends there, because the texts are
different from then on."""

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.artifacts import generation_file, write_arrays
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, Parted
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.generation.graph import (
    Event,
    SampledToken,
    compare_in_graph,
    count_sampled,
    stated,
)
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.correct import judge_run, result_of
from sampler_parity.harness.checks.stages.prefixes import stages_by_prefixes
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.sequences import Text
from sampler_parity.reference import Candidates, UndefinedInputError


def judge_events(
    backend: Backend, model: str, text: Text, events: Sequence[Event], result: BackendResult
) -> BackendResult:
    """Return the verdict on all events of a text, whose tokens are not the reference's. It stays
    `result` if the backend does not take the steps."""
    prepared, taken = steps_of(model, text, events)
    hello = backend.hello()
    try:
        ran = client.run(
            backend, prepared.setting, prepared.rows, prepared.steps, whole_chain=False
        )
        if "no_stages" in hello.capabilities:
            ran = stages_by_prefixes(prepared, ran, backend)
    except BackendFailure as failure:
        detail = f"not judged by the specification: {failure}"
        return result.model_copy(update={"detail": detail})
    tokens = [sample.token for sample in taken]
    stages = [_selecting(*pair) for pair in zip(ran.stages, tokens, strict=True)]
    text_of = replace(ran, tokens=[*tokens], stages=stages)
    judged = judge_run(prepared, text_of, len(tokens), hello.arithmetic)
    if judged.wrong is not None:
        judged.wrong = replace(judged.wrong, step=taken[judged.wrong.step].step)
    verdict = result_of(judged, result.ns)
    differing = sum(drawn != token for drawn, token in zip(ran.tokens, tokens, strict=True))
    if verdict.verdict == "correct" and differing:
        return verdict.model_copy(update={"detail": f"its steps draw {differing} other tokens"})
    return verdict


def steps_of(
    model: str, text: Text, events: Sequence[Event]
) -> tuple[Prepared, list[SampledToken]]:
    """Return the text as steps on given logits, and the token of each. Forced tokens, which come
    first, are history."""
    history, instance = [*text.prompt], 0
    before: list[tuple[Literal["reset", "clone"], int]] = []
    steps: list[p.Step] = []
    taken: list[SampledToken] = []
    for event in events:
        if event == "reset" and not steps:
            history = []
        elif event == "reset":
            before.append(("reset", instance))
        elif event == "cloned":
            before.append(("clone", instance))
            instance += 1
        elif event.forced:
            history.append(event.token)
        else:
            of_step = {"row": len(steps), "instance": instance, "accept": event.token}
            steps.append(p.Step.model_validate(of_step | {"before": before}))
            taken.append(event)
            before = []
    rows = [sample.row for sample in taken]
    case = StagesCase.model_construct(
        chain=text.chain, history=history, logits=LiteralRows.model_construct(rows=rows)
    )
    return Prepared(case, text.chain, rows, steps, 1, read_vocab(Path(model)), model), taken


def _selecting(stages: list[Got], token: int) -> list[Got]:
    """Return the stages with this token selected by the last one, if that has it."""
    at = np.flatnonzero(stages[-1].ids == token)
    if len(at) == 0 or stages[-1].token == token:
        return stages
    return [*stages[:-1], replace(stages[-1], selected=int(at[0]))]


def judge(
    case: GenerationCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str] | None = None,
) -> CaseResult:
    """Generate on every backend. steps: the tokens that were compared, on any of them.

    releases: generations are judged by v0.5.0, whatever is asked for.
    """
    request = request_of(case)
    reference_s, steps = 0.0, 0
    first: tuple[list[int], NDArray[np.float32]] | None = None
    results: dict[str, BackendResult] = {}
    for backend in backends:
        start = time.perf_counter()
        try:
            generated = client.generate(backend, request)
        except BackendFailure as failure:
            result = BackendResult(verdict=failure.verdict, detail=failure.whole)
            if failure.verdict == "crashed" and "crashed" in case.required(backend.name):
                steps = max(steps, 1)  # an abort that the case requires is its step
        else:
            replied = time.perf_counter()
            reply, rows, handed_back = generated.reply, generated.rows, generated.handed_back
            rows = rows.copy() if fairly() else rows  # they hold until the next request
            if handed_back is not None:
                arithmetic = stated(backend)
                result, compared = compare_in_graph(request, reply, rows, handed_back, arithmetic)
            else:
                result, compared = compare_tokens(backend, request, reply, rows)
            reference_s += time.perf_counter() - replied
            steps = max(steps, compared)
            if backend is backends[0]:
                first = reply.tokens, rows.copy()
            parting = parted(*first, reply.tokens, rows) if first is not None else None
            digest = hashlib.sha256(np.array(reply.tokens, np.int32).tobytes()).hexdigest()
            result = result.model_copy(update={"text_sha256": digest, "parted": parting})
            if result.step is not None and artifacts is not None:
                _save(artifacts, case.id, backend.name, request, reply, rows[result.step])
        wall_s = time.perf_counter() - start
        results[backend.name] = result.model_copy(update={"wall_s": wall_s})
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=steps,
        reference_s=reference_s,
        backends=results,
        required={b.name: case.required(b.name) for b in backends},
    )


def parted(
    first_tokens: list[int],
    first_rows: NDArray[np.float32],
    tokens: list[int],
    rows: NDArray[np.float32],
) -> Parted | None:
    """Return where a generation leaves the first backend's; None if it does not."""
    differing = [
        i for i, pair in enumerate(zip(first_tokens, tokens, strict=True)) if len({*pair}) > 1
    ]
    if not differing:
        return None
    step = differing[0]
    first, row = first_rows[step].astype(np.float64), rows[step].astype(np.float64)
    with np.errstate(invalid="ignore"):
        margin = float(first[first_tokens[step]] - first[tokens[step]])
        difference = float(np.abs(first - row).max())
    return Parted(
        step=step,
        token=tokens[step],
        first_token=first_tokens[step],
        margin=margin if math.isfinite(margin) else None,
        difference=difference if math.isfinite(difference) else None,
    )


def request_of(case: GenerationCase) -> p.GenerateRequest:
    """Return the request to a backend."""
    decoded = case.logits
    path = model_path(decoded.decoded)
    return p.GenerateRequest(
        model=str(path),
        n_vocab=decoded.n,
        chain=complete(case.chain, decoded.n),
        prompt=decoded.prompt,
        n_tokens=case.steps,
        out=0,
    )


def compare_tokens(
    backend: Backend, request: p.GenerateRequest, reply: p.GenerateReply, rows: NDArray[np.float32]
) -> tuple[BackendResult, int]:
    """Return the verdict on a generation, and how many of its tokens were compared."""
    text = Text(chain=request.chain, prompt=request.prompt)
    events = [SampledToken(i, *pair) for i, pair in enumerate(zip(rows, reply.tokens, strict=True))]
    result, compared = compare_events(backend, request.model, request.n_vocab, text, events)
    return result.model_copy(update={"ns": reply.ns}), compared


def compare_events(
    backend: Backend, model: str, n_vocab: int, text: Text, events: Sequence[Event]
) -> tuple[BackendResult, int]:
    """Return the verdict on the events of a text, and how many of its tokens were compared."""
    chain = build_chain(text.chain, n_vocab=n_vocab, vocab=read_vocab(Path(model)))
    for token in text.prompt:
        chain.accept(token)
    compared = 0
    for event in events:
        if event == "reset":
            chain.reset()
            continue
        if event == "cloned":
            chain = chain.clone()
            continue
        if not event.forced:
            cand = Candidates.from_logits(event.row)
            try:
                chain.apply(cand)
            except UndefinedInputError as error:
                detail = f"the reference refuses the logits of step {event.step}: {error}"
                return BackendResult(verdict="rejected", detail=detail), compared
            compared += 1
            if cand.token != event.token:
                result = _diverged(event, cand)
                if not fairly():
                    return result, compared
                result = judge_events(backend, model, text, events, result)
                return result, count_sampled(events, result.step)
        chain.accept(event.token)
    return BackendResult(verdict="identical"), compared


# A fault that keeps one token more draws an equal one, too, and each row is drawn from once.
ONE_OF_EQUALS = "one of equal logits for another: one token cannot distinguish a sort from a fault"


def _diverged(event: SampledToken, cand: Candidates) -> BackendResult:
    got, row = event.token, event.row
    expected = -1 if cand.token is None else cand.token
    at = np.flatnonzero(cand.ids == got)
    values = {
        "got": got,
        "expected": expected,
        "got_logit": float(row[got]),
        "expected_logit": float(row[expected]) if expected >= 0 else None,
        "got_p": float(cand.p[at[0]]) if len(at) else None,
        "expected_p": float(cand.p[cand.selected]) if expected >= 0 else None,
    }
    equal = expected >= 0 and bool(row[got] == row[expected])
    return BackendResult(
        verdict="diverged",
        step=event.step,
        stage="token",
        what="token",
        values=p.plain(values),
        detail=ONE_OF_EQUALS if equal else "",
    )


def _save(
    folder: Path,
    case: str,
    backend: str,
    request: p.GenerateRequest,
    reply: p.GenerateReply,
    row: NDArray[np.float32],
) -> None:
    write_arrays(
        folder / generation_file(case, backend),
        prompt=np.array(request.prompt, np.int32),
        tokens=np.array(reply.tokens, np.int32),
        row=row,
    )
