"""Split the reply to `sequences` into the events of each sequence."""

from dataclasses import dataclass, field

from sampler_parity.harness.checks.generation.events import Event, SampledToken
from sampler_parity.harness.protocol.client_sequences import Sequenced
from sampler_parity.harness.protocol.sequences import SequencesRequest, SlotChange


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
