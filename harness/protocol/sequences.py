"""The request `sequences`: many sequences in one context, which join, leave and are copied.

A slot is a place of the context, as a server has so many: llama.cpp's sequence id. A text comes
into a slot with a chain of its own.
"""

from typing import Any, Literal

from pydantic import Field, model_validator

from sampler_parity.harness.strict import Strict


class Text(Strict):
    """A prompt and the chain that continues it; the chain accepts the prompt first.

    forced: the tokens that follow the prompt, in place of what would be sampled; while they last,
    the chain accepts them and samples nothing.
    """

    chain: list[dict[str, dict[str, Any]]]
    prompt: list[int] = Field(min_length=1)
    """tokens that the chain accepts first"""
    forced: list[int] = []
    """tokens that follow the prompt instead of sampled ones"""


class SlotChange(Strict):
    """A change of a slot before a step.

    join: the text of that index comes into it; it is empty. copy: it becomes a copy of `other`,
    with its memory and a clone of its chain; it is empty. leave: its memory and its chain are
    dropped. reset: its chain is reset, its memory stays.
    """

    do: Literal["join", "copy", "leave", "reset"]
    """the operation"""
    slot: int = Field(ge=0)
    """the slot that changes"""
    text: int | None = Field(default=None, ge=0)
    """for `join`: index of the text"""
    other: int | None = Field(default=None, ge=0)
    """for `copy`: the slot to copy from"""

    @model_validator(mode="after")
    def _names_what_it_needs(self) -> "SlotChange":
        if (self.text is not None, self.other is not None) != (
            self.do == "join",
            self.do == "copy",
        ):
            raise ValueError("join has a text, copy another slot, and leave and reset have neither")
        return self


class SequencesStep(Strict):
    """batch: the slots whose tokens are decoded in one batch, in its order: of a text that joined,
    the prompt, and else the token that came last. sample: the same slots, in the order in which
    they are sampled."""

    before: list[SlotChange] = []
    """changes of slots before the step"""
    batch: list[int] = Field(min_length=1)
    """slots whose next tokens are decoded in one batch, in this order"""
    sample: list[int] = Field(min_length=1)
    """the same slots, in the order of sampling"""

    @model_validator(mode="after")
    def _samples_what_it_decodes(self) -> "SequencesStep":
        if sorted(self.batch) != sorted(self.sample) or len({*self.batch}) != len(self.batch):
            raise ValueError("sample must have the slots of batch, each once, in any order")
        return self


class SequencesRequest(Strict):
    """Take the steps. Before a token is sampled, the logits of its output are written at `out`:
    float32[tokens of all steps, n_vocab], in the order in which they are sampled.

    threads: how many threads sample at once, each a chain of its own.
    """

    number: int | None = None
    do: Literal["sequences"] = "sequences"
    model: str = Field(description="path of a GGUF file; its vocabulary is the chains', too")
    n_vocab: int
    slots: int = Field(gt=0)
    """number of sequences of the context"""
    texts: list[Text] = Field(min_length=1)
    """the texts that may join"""
    steps: list[SequencesStep] = Field(min_length=1)
    """the steps to take, one after the other"""
    threads: int = Field(default=1, gt=0)
    """how many threads sample at once, each with its own chains"""
    out: int = Field(ge=0)
    """byte offset for float32[tokens of all steps, n_vocab]: logits in the order of sampling"""

    @property
    def n_tokens(self) -> int:
        return sum(len(step.sample) for step in self.steps)


def check_script(slots: int, texts: int, steps: list[SequencesStep]) -> None:
    """Raise ValueError for a step that uses a slot or a text that is not there, or joins a slot
    that is taken."""
    taken: set[int] = set()
    for at, step in enumerate(steps):
        for change in step.before:
            _check(at, change, slots, texts, taken)
            if change.do == "leave":
                taken.remove(change.slot)
            else:
                taken.add(change.slot)
        empty = [slot for slot in step.batch if slot not in taken]
        if empty:
            raise ValueError(f"step {at}: slot {empty[0]} of the batch is empty")


def _check(at: int, change: SlotChange, slots: int, texts: int, taken: set[int]) -> None:
    comes = change.do in ("join", "copy")
    if change.slot >= slots:
        raise ValueError(f"step {at}: {change.do} of slot {change.slot}, there are {slots} slots")
    if (change.text or 0) >= texts:
        raise ValueError(f"step {at}: {change.do} of text {change.text}, there are {texts} texts")
    if comes and change.slot in taken:
        raise ValueError(
            f"step {at}: slot {change.slot} is occupied: a sequence must leave it first"
        )
    needed = {"copy": change.other, "join": None}.get(change.do, change.slot)
    if needed is not None and needed not in taken:
        raise ValueError(f"step {at}: {change.do} of slot {needed}, which is empty")
