"""A sequence in a batch beside the same text alone: what a neighbour changes is rounding.

The text alone is taken through the same resets, in a context of its own. The tokens are compared
until they part, and the logits up to there. Who draws each token from the logits that it was given
has been judged already; so where a text parts, its logits do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sampler_parity.harness.checks.generation.events import Sampled
from sampler_parity.harness.checks.logits.compare import divergence, largest_difference
from sampler_parity.harness.checks.sequences.streams import Stream
from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.protocol import ask_sequences
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.sequences import Change, SequencesRequest, SequencesStep

# Of two logits. Among devices the largest of the golden model is 0.18, with shaders that compute in
# float16 (docs/results/devices.md); the logits of another text differ by 5 and more.
ROUNDING = 1.0


@dataclass(frozen=True)
class Beside:
    """A text in the batch beside itself alone. compared: rows up to where the texts part, that one
    included. equal: those that are equal to the bit. difference, kl: the largest, and the step of
    the batch where the difference is. parted: the step of the batch where other tokens begin."""

    compared: int
    equal: int
    difference: float
    kl: float
    step: int
    parted: int | None


def beside_alone(
    backend: Backend,
    request: SequencesRequest,
    streams: Sequence[Stream],
    result: BackendResult,
) -> BackendResult:
    """The result with what decoding alone shows of each sequence that is no copy: diverged where
    its logits are not those of its text. Raises BackendFailure."""
    beside = {stream: _beside(backend, request, stream) for stream in streams if not stream.copied}
    if not beside:  # every sequence that sampled is a copy
        return result
    parted = {s.name: b.parted + 1 for s, b in beside.items() if b.parted is not None}
    alone = {
        "texts": len(beside),
        "parted": parted,
        "rows": sum(b.compared for b in beside.values()),
        "equal_rows": sum(b.equal for b in beside.values()),
        "largest_difference": max(b.difference for b in beside.values()),
        "largest_kl": max(b.kl for b in beside.values()),
    }
    detail = f"{result.detail}; {len(beside) - len(parted)}/{len(beside)} texts as alone"
    values = result.values | {"alone": alone}
    result = result.model_copy(update={"values": values, "detail": detail})
    foreign = [s for s, b in beside.items() if not b.difference <= ROUNDING]
    if not foreign:
        return result
    stream = min(foreign, key=lambda s: beside[s].step)
    step = beside[stream].step
    values |= {"sequence": stream.name, "output": stream.outputs[step]}
    values |= {"got": beside[stream].difference, "expected": f"at most {ROUNDING:g}"}
    return result.model_copy(
        update={
            "verdict": "diverged",
            "step": step,
            "stage": "logits",
            "what": "difference from the text alone",
            "values": values,
            "detail": f"{detail}; {stream.name} has the logits of another text",
        }
    )


def _beside(backend: Backend, request: SequencesRequest, stream: Stream) -> Beside:
    alone = ask_sequences.sequences(backend, _alone(request, stream))
    pairs = list(zip(stream.tokens, alone.reply.tokens, alone.rows, strict=True))
    apart = [i for i, (token, other, _) in enumerate(pairs) if token.token != other]
    pairs = pairs[: apart[0] + 1] if apart else pairs
    rows = np.stack([token.row for token, _, _ in pairs])
    others = np.stack([row for _, _, row in pairs])
    by_row = [largest_difference(rows[i : i + 1], others[i : i + 1]) for i in range(len(rows))]
    largest = int(np.argmax(by_row))
    return Beside(
        compared=len(pairs),
        equal=int((rows == others).all(axis=1).sum()),
        difference=by_row[largest],
        kl=float(divergence(others, rows).max()),
        step=pairs[largest][0].step,
        parted=pairs[-1][0].step if apart else None,
    )


def _alone(request: SequencesRequest, stream: Stream) -> SequencesRequest:
    """The text in a context of its own, with what happened to it."""
    before = [Change(do="join", slot=0, text=0)]
    steps = []
    for event in stream.events:
        if isinstance(event, Sampled):
            steps.append(SequencesStep(before=before, batch=[0], sample=[0]))
            before = []
        elif event == "reset":
            before = [*before, Change(do="reset", slot=0)]
    texts = [request.texts[stream.text]]
    return request.model_copy(update={"texts": texts, "steps": steps, "slots": 1, "threads": 1})
