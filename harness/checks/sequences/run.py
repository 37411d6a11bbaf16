"""Many sequences in one context: each is judged alone, on the logits of its batches.

A copy is judged from the beginning of its original. Its chain must be a clone, which may continue
otherwise than the original (adaptive_p's clone restarts its random numbers).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.artifacts import generation_file, write_arrays
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.generation.graph import count_sampled, events_in_graph, stated
from sampler_parity.harness.checks.generation.run import compare_events
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.checks.sequences.isolation import Stream, compare_alone, streams_of
from sampler_parity.harness.correct import fairly
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client_serving
from sampler_parity.harness.protocol.client_serving import Sequenced
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.sequences import SequencesRequest
from sampler_parity.harness.verdicts import worst

Judged = dict[str, BackendResult]  # by the name of the stream


def judge(
    case: SequencesCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str] | None = None,
) -> CaseResult:
    """Take the steps on every backend. steps: of the script, where a token was compared.

    releases: sequences are judged by v0.5.0, whatever is asked for.
    """
    request = request_of(case)
    names = list(case.logits.texts)
    seconds, steps = 0.0, 0
    results: dict[str, BackendResult] = {}
    for backend in backends:
        start = time.perf_counter()
        try:
            sequenced = client_serving.sequences(backend, request)
            if case.logits.alone or fairly():  # the rows hold until the next request
                sequenced = replace(sequenced, rows=sequenced.rows.copy())
            replied = time.perf_counter()
            streams = streams_of(request, names, sequenced)
            result, compared = judge_streams(backend, request, streams, sequenced)
            seconds += time.perf_counter() - replied
            if case.logits.alone and result.verdict not in ("diverged", "rejected"):
                result = compare_alone(backend, request, streams, result)
        except BackendFailure as failure:
            result = BackendResult(verdict=failure.verdict, detail=failure.whole)
        else:
            steps = len(request.steps) if compared else steps
            if result.verdict == "diverged" and artifacts is not None:
                _save(artifacts, case.id, backend.name, sequenced, result)
        wall_s = time.perf_counter() - start
        results[backend.name] = result.model_copy(update={"wall_s": wall_s})
    return CaseResult(
        id=case.id,
        samplers=case.samplers,
        steps=steps,
        reference_s=seconds,
        backends=results,
        required={b.name: case.required(b.name) for b in backends},
    )


def request_of(case: SequencesCase) -> SequencesRequest:
    """Return the request to a backend."""
    together = case.logits
    texts = [
        text.model_copy(update={"chain": complete(text.chain, together.n)})
        for text in together.texts.values()
    ]
    return SequencesRequest(
        model=str(model_path(together.together)),
        n_vocab=together.n,
        slots=together.slots,
        texts=texts,
        steps=together.script,
        threads=together.threads,
        out=0,
    )


def judge_streams(
    backend: Backend, request: SequencesRequest, streams: Sequence[Stream], sequenced: Sequenced
) -> tuple[BackendResult, int]:
    """Return the verdict on all sequences, and how many tokens were compared. The verdict is the
    worst one, with the place of the first sequence that has it. Tokens of a copy count from the
    copy on.
    """
    judged: Judged = {}
    compared = 0
    for stream in streams:
        text = request.texts[stream.text]
        arguments = request.model, request.n_vocab, text, stream.events
        if sequenced.handed_back is None:
            result, n = compare_events(backend, *arguments)
        else:
            in_graph = sequenced.reply.in_graph[stream.text]
            result, n = events_in_graph(*arguments, in_graph, stated(backend))
        judged[stream.name] = result
        compared += max(0, n - count_sampled(stream.events[: stream.copied]))
    result = _of_the_first(streams, judged, compared)
    return result.model_copy(update={"ns": sequenced.reply.ns}), compared


def _of_the_first(streams: Sequence[Stream], judged: Judged, compared: int) -> BackendResult:
    """Return the result of the first sequence with the worst verdict, which it names, and the
    verdicts of all."""
    verdict = worst([result.verdict for result in judged.values()])
    bad = [stream for stream in streams if judged[stream.name].verdict == verdict]
    first = min(bad, key=lambda stream: judged[stream.name].step or 0)
    result = judged[first.name]
    met = sum(sequence_result.verdict == "identical" for sequence_result in judged.values())
    values: dict[str, Any] = {
        "sequences": {name: _format(sequence_result) for name, sequence_result in judged.items()},
    }
    detail = f"{met}/{len(judged)} sequences identical, {compared:,} tokens"
    if verdict != "identical":
        values["sequence"] = first.name
        at = f" at step {result.step + 1}" if result.step is not None else ""
        reason = f": {result.detail}" if result.detail else ""
        detail += f"; {first.name} is {verdict}{at}{reason}"
    if result.step is not None:
        values["output"] = first.outputs.get(result.step)
    originals = [judged[stream.name] for stream in streams if not stream.copied]
    lean = {
        "late": sum(original.late for original in originals),
        "early": sum(original.early for original in originals),
    }
    update = {"values": result.values | values, "detail": detail, **lean}
    return result.model_copy(update=update)


def _format(result: BackendResult) -> str:
    """Format the verdict of a sequence and its first step; in the graph, with its explanation."""
    text = result.verdict + (
        f" at step {result.step + 1} ({result.what})" if result.step is not None else ""
    )
    if "other_tokens" not in result.values:
        return text
    details = [result.detail]
    details += [f"{count} by {cause}" for cause, count in result.values["other_tokens"].items()]
    details += [f"{result.values[key]} {key}" for key in ("by_rounding", "in_other_order")]
    return f"{text}: {', '.join(details)}"


def _save(
    folder: Path, case: str, backend: str, sequenced: Sequenced, result: BackendResult
) -> None:
    output = result.values.get("output")
    write_arrays(
        folder / generation_file(case, backend),
        tokens=np.array(sequenced.reply.tokens, np.int32),
        row=sequenced.rows[output if output is not None else -1],
    )
