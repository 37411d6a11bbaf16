"""Compare a sequence in a batch with the same text alone: a neighbour may only change rounding.

The text alone has the same resets, in a context of its own. Tokens are compared until they differ,
and logits up to there. The draw of each token from its logits has been judged before; so if texts
differ, their logits do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.generation.graph import Event, SampledToken
from sampler_parity.harness.checks.logits import divergence, largest_difference
from sampler_parity.harness.protocol import client_serving
from sampler_parity.harness.protocol.client_serving import Sequenced
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.sequences import SequencesRequest, SequencesStep, SlotChange


@dataclass(frozen=True, eq=False)
class Stream:
    """A sequence, from the moment that it joined. text: its index. copied: how many of the first
    events are those of its original. outputs: by step, the index of its token among all."""

    name: str
    text: int
    slot: int
    events: list[Event] = field(default_factory=list)
    copied: int = 0
    outputs: dict[int, int] = field(default_factory=dict)

    @property
    def tokens(self) -> list[SampledToken]:
        return [event for event in self.events if isinstance(event, SampledToken)]


def streams_of(request: SequencesRequest, names: list[str], sequenced: Sequenced) -> list[Stream]:
    """Return every sequence that was in a slot and sampled, in the order in which they joined.
    names: of the texts."""
    streams: list[Stream] = []
    at: dict[int, Stream] = {}
    output = 0
    for i, step in enumerate(request.steps):
        for change in step.before:
            _change(change, i, names, at, streams)
        for slot in step.sample:
            stream = at[slot]
            stream.outputs[i] = output
            stream.events.append(
                SampledToken(
                    step=i,
                    row=sequenced.rows[output],
                    token=sequenced.reply.tokens[output],
                    handed_back=sequenced.handed_back[output] if sequenced.handed_back else None,
                    forced=len(stream.tokens) < len(request.texts[stream.text].forced),
                )
            )
            output += 1
    return [stream for stream in streams if stream.outputs]


def _change(
    change: SlotChange, step: int, names: list[str], at: dict[int, Stream], streams: list[Stream]
) -> None:
    if change.do == "reset":
        at[change.slot].events.append("reset")
        return
    if change.do == "leave":
        del at[change.slot]
        return
    where = f"in slot {change.slot} from step {step + 1}"
    if change.do == "join":
        text = change.text or 0
        stream = Stream(f"{names[text]} {where}", text, change.slot)
    else:
        source = at[change.other or 0]
        name = f"{names[source.text]} copied from {change.other} {where}"
        before = len(source.events) + 1
        stream = Stream(name, source.text, change.slot, [*source.events, "cloned"], before)
    at[change.slot] = stream
    streams.append(stream)


# The largest difference of two logits. Among devices that of the golden model is at most 0.18, with
# shaders that compute in float16 (docs/results/devices.md). Another text differs by 5 or more.
ROUNDING = 1.0


@dataclass(frozen=True)
class IsolationComparison:
    """A text in the batch compared with itself alone. compared: rows up to the first other token,
    that one included. equal: rows that are equal to the bit. difference, kl: the largest, and the
    step of the batch of the difference. parted: the step of the batch where other tokens begin.
    """

    compared: int
    equal: int
    difference: float
    kl: float
    step: int
    parted: int | None


def compare_alone(
    backend: Backend, request: SequencesRequest, streams: Sequence[Stream], result: BackendResult
) -> BackendResult:
    """Return the result with the comparison of each sequence, except copies, with its text alone.
    It is diverged if logits are not those of the text. Raises BackendFailure."""
    by_stream = {
        stream: _compare(backend, request, stream) for stream in streams if not stream.copied
    }
    if not by_stream:  # every sequence that sampled is a copy
        return result
    parted = {s.name: b.parted + 1 for s, b in by_stream.items() if b.parted is not None}
    alone = {
        "texts": len(by_stream),
        "parted": parted,
        "rows": sum(b.compared for b in by_stream.values()),
        "equal_rows": sum(b.equal for b in by_stream.values()),
        "largest_difference": max(b.difference for b in by_stream.values()),
        "largest_kl": max(b.kl for b in by_stream.values()),
    }
    detail = f"{result.detail}; {len(by_stream) - len(parted)}/{len(by_stream)} texts as alone"
    values = result.values | {"alone": alone}
    result = result.model_copy(update={"values": values, "detail": detail})
    wrong = [s for s, b in by_stream.items() if not b.difference <= ROUNDING]
    if not wrong:
        return result
    stream = min(wrong, key=lambda s: by_stream[s].step)
    step = by_stream[stream].step
    values |= {"sequence": stream.name, "output": stream.outputs[step]}
    values |= {"got": by_stream[stream].difference, "expected": f"at most {ROUNDING:g}"}
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


def _compare(backend: Backend, request: SequencesRequest, stream: Stream) -> IsolationComparison:
    alone = client_serving.sequences(backend, _alone(request, stream))
    pairs = list(zip(stream.tokens, alone.reply.tokens, alone.rows, strict=True))
    differing = [i for i, (token, token_alone, _) in enumerate(pairs) if token.token != token_alone]
    pairs = pairs[: differing[0] + 1] if differing else pairs
    rows = np.stack([token.row for token, _, _ in pairs])
    rows_alone = np.stack([row for _, _, row in pairs])
    by_row = [largest_difference(rows[i : i + 1], rows_alone[i : i + 1]) for i in range(len(rows))]
    largest = int(np.argmax(by_row))
    return IsolationComparison(
        compared=len(pairs),
        equal=int((rows == rows_alone).all(axis=1).sum()),
        difference=by_row[largest],
        kl=float(divergence(rows_alone, rows).max()),
        step=pairs[largest][0].step,
        parted=pairs[-1][0].step if differing else None,
    )


def _alone(request: SequencesRequest, stream: Stream) -> SequencesRequest:
    """Return a request for the text in a context of its own, with the same events."""
    before = [SlotChange(do="join", slot=0, text=0)]
    steps = []
    for event in stream.events:
        if isinstance(event, SampledToken):
            steps.append(SequencesStep(before=before, batch=[0], sample=[0]))
            before = []
        elif event == "reset":
            before = [*before, SlotChange(do="reset", slot=0)]
    texts = [request.texts[stream.text]]
    return request.model_copy(update={"texts": texts, "steps": steps, "slots": 1, "threads": 1})
