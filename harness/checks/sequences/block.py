"""Blocks of a suite that decode many sequences in one context.

docs/background/sequences.md explains them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import Prompted, SuiteBlock, fill
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Together
from sampler_parity.harness.inputs.models import n_vocab_of
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.protocol.sequences import SlotChange
from sampler_parity.harness.strict import Size, Steps

# The order in which slots are decoded and sampled. `plain`: by number. `reversed`: sampled from the
# last. `turning`: another slot is the first of the batch at each step, sampled from the last.
# `uneven`: as turning, and each slot rests at every third step.
Order = Literal["plain", "reversed", "turning", "uneven"]


class Event(SuiteBlock):
    """One operation before a step."""

    at: int = Field(ge=0)
    """the step"""
    slot: int | None = Field(default=None, ge=0)
    """the slot that `join` or `copy` fills"""
    join: tuple[str, str] | None = None
    """names of the chain and the prompt that join"""
    copy_of: int | None = Field(default=None, ge=0, alias="copy")
    """the slot to copy"""
    leave: int | None = Field(default=None, ge=0)
    """the slot that leaves"""
    reset: int | None = Field(default=None, ge=0)
    """the slot whose chain is reset"""

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Event":
        alone = [value for value in (self.leave, self.reset) if value is not None]
        into = [value for value in (self.join, self.copy_of) if value is not None]
        if len(alone) + len(into) != 1 or (self.slot is not None) != bool(into):
            raise ValueError("give one of join and copy with a slot, or one of leave and reset")
        return self

    def change(self, text: int) -> SlotChange:
        """Return the change. text: the index of the next text that joins."""
        if self.join is not None:
            return SlotChange(do="join", slot=self.slot or 0, text=text)
        if self.copy_of is not None:
            return SlotChange(do="copy", slot=self.slot or 0, other=self.copy_of)
        if self.leave is not None:
            return SlotChange(do="leave", slot=self.leave)
        return SlotChange(do="reset", slot=self.reset or 0)


class SequencesCase(Case):
    """Many sequences in one context."""

    check: ClassVar[str] = "sequences"
    chosen_by = ("logits.together",)
    requests = ("sequences",)

    logits: Together
    steps: Steps = 1

    @property
    def samplers(self) -> list[str]:
        return self.logits.samplers

    @property
    def cost(self) -> int:
        return self.logits.n * sum(len(step.sample) for step in self.logits.script) * 4

    def validate_input(self, validator: FileValidator, place: str) -> None:
        validator.texts(place, self.logits)


class SequencesBlock(Prompted):
    """A case for each order and each number of threads. `"$text"` in a chain: the text's number."""

    chains: dict[str, ChainSpec] = Field(default={})
    """chains by name; none: those of the file"""
    slots: Size
    """number of sequences of the context"""
    steps: Steps
    orders: list[Order] = Field(default=["plain"])
    """order of sampling within a step"""
    threads: list[Size] = Field(default=[])
    """numbers of threads that sample at once"""
    script: list[Event] = Field(min_length=1)
    """the events before the steps"""
    alone: bool = False
    """also decode each text on its own"""
    quick: bool = True

    def items(self, quick: bool, shared: Mapping[str, ChainSpec]) -> Iterator[SequencesCase]:
        """Yield the cases. shared: chains of the file. Raises ValueError for an unknown name."""
        if quick and not self.quick:
            return
        texts = dict(self._texts(self.chains or shared))
        for order in self.orders:
            yield self._case(order, texts, order, 1)
        for threads in self.threads:
            yield self._case(f"threads-{threads}", texts, "plain", threads)

    def _texts(self, chains: Mapping[str, ChainSpec]) -> Iterator[tuple[str, dict[str, Any]]]:
        prompts, n = self.all_prompts(), n_vocab_of(self.model)
        joins = [event.join for event in self._in_order() if event.join is not None]
        for i, (chain, prompt) in enumerate(joins):
            if chain not in chains or prompt not in prompts:
                raise ValueError(f"script: unknown chain {chain!r} or prompt {prompt!r}")
            filled = fill(chains[chain], {"text": i}, n)
            yield f"{i}-{chain}-{prompt}", {"chain": filled, "prompt": prompts[prompt]}

    def _in_order(self) -> list[Event]:
        return sorted(self.script, key=lambda event: event.at)

    def _case(self, name: str, texts: dict[str, Any], order: Order, threads: int) -> SequencesCase:
        logits = {
            "together": self.model,
            "slots": self.slots,
            "texts": texts,
            "script": steps_of(self._in_order(), self.steps, order),
            "threads": threads,
            "alone": self.alone,
        }
        return SequencesCase.model_validate(
            self.about(name) | {"logits": logits, "steps": self.steps, "detail": "token"}
        )


def steps_of(events: list[Event], steps: int, order: Order) -> list[dict[str, Any]]:
    """Return the steps of a script. Raises ValueError for an event after the last step, or a step
    without an occupied slot."""
    unreachable = [event.at for event in events if event.at >= steps]
    if unreachable:
        raise ValueError(f"script: an event at step {unreachable[0]}; the last step is {steps - 1}")
    taken: set[int] = set()
    all_steps: list[dict[str, Any]] = []
    texts = 0
    for at in range(steps):
        changes = []
        for event in (event for event in events if event.at == at):
            changes.append(event.change(texts))
            texts += event.join is not None
            _take(taken, changes[-1])
        batch, sample = _ordered(sorted(taken), order, at)
        all_steps.append({"before": changes, "batch": batch, "sample": sample})
    return all_steps


def _take(taken: set[int], change: SlotChange) -> None:
    if change.do in ("join", "copy"):
        taken.add(change.slot)
    elif change.do == "leave":
        taken.discard(change.slot)


def _ordered(slots: list[int], order: Order, step: int) -> tuple[list[int], list[int]]:
    if order == "plain" or not slots:
        return slots, slots
    if order == "reversed":
        return slots, slots[::-1]
    turned = step % len(slots)
    batch = slots[turned:] + slots[:turned]
    if order == "uneven":
        batch = [slot for slot in batch if (slot + step) % 3] or batch[:1]
    return batch, batch[::-1]
