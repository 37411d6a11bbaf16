"""Slots that are wrong in one way: sequences that share what each must have of its own.

The slots are llama.cpp's own (harness/llama_cpp/sequences.py), over a context whose logits
are made of the tokens in a sequence's memory, and over the reference's chains.
"""

import functools
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.faults.part import Part
from sampler_parity.harness.llama_cpp.decode import Further
from sampler_parity.harness.llama_cpp.sequences import Slot, Slots, take_all
from sampler_parity.harness.protocol.in_place import InPlace
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import HelloReply, SequencesReply, SequencesRequest
from sampler_parity.harness.protocol.sequences import Change, SequencesStep
from sampler_parity.reference import Candidates

MODEL = "small"


class MadeContext:
    """A context whose logits are random numbers, whose seed is what the sequence has in memory."""

    def __init__(self, n_vocab: int) -> None:
        self.n_vocab = n_vocab
        self.memory: dict[int, list[int]] = {}
        self.rows: dict[int, NDArray[np.float32]] = {}  # by output

    def decode_together(self, parts: Sequence[Further]) -> int:
        self.rows, output = {}, -1
        for part in parts:
            memory = self.memory.setdefault(part.sequence, [])
            memory += part.tokens
            output += len(part.tokens)
            rng = np.random.default_rng(zlib.crc32(np.array(memory, np.int32).tobytes()))
            self.rows[output] = rng.normal(0, 3, self.n_vocab).astype(np.float32)
        return 0

    def row(self, output: int) -> NDArray[np.float32]:
        return self.rows[output]

    def sample(self, chain: reference.ReferenceInstance, output: int) -> int:
        candidates = Candidates.from_logits(self.rows[output])
        chain.apply(None, candidates)
        token = int(candidates.ids[candidates.selected])
        chain.accept(token)
        return token

    def copy_sequence(self, source: int, target: int) -> None:
        self.memory[target] = list(self.memory[source])

    def remove_sequence(self, sequence: int) -> None:
        self.memory.pop(sequence, None)


class Worker(reference.Worker):
    """The reference with slots. make: those that are tried."""

    def __init__(self, make: type[Slots]) -> None:
        super().__init__()
        self.make = make

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"capabilities": ["run", "sequences"]})

    def sequences(
        self, request: SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[SequencesReply, list[Result]]:
        context: Any = MadeContext(request.n_vocab)
        worker: Any = self
        return take_all(self.make(worker, request, context, None), rows)


class OutputOfAnother(Slots):
    """A token is sampled from the output of the sequence that was sampled before it."""

    before = -1

    def sample(self, number: int, output: int) -> int:
        chosen = self.before if self.before in vars(self.plain)["rows"] else output
        self.before = output
        return super().sample(number, chosen)


class OutputsInOrderOfSlots(Slots):
    """The outputs of a batch are taken to lie in the order of the slots, logits and all."""

    def decode(self, batch: list[int]) -> dict[int, int]:
        outputs = super().decode(batch)
        return dict(zip(sorted(batch), sorted(outputs.values()), strict=True))


class TokensInOrderOfBatch(Slots):
    """Tokens are handed out in the order of the batch, and not in that of sampling."""

    def take(
        self, step: SequencesStep, rows: NDArray[np.float32]
    ) -> tuple[list[int], list[Result]]:
        tokens, results = super().take(step, rows)
        by_slot = dict(zip(step.sample, tokens, strict=True))
        return [by_slot[slot] for slot in step.batch], results


class CopySharesItsChain(Slots):
    """A copy has the memory of the original, and its chain, which is not cloned."""

    def copied(self, source: int, target: int) -> Slot:
        slot = super().copied(source, target)
        slot.chain = self.slots[source].chain
        return slot


class CopyBeginsAnew(Slots):
    """A copy's chain is a clone that was reset: its random numbers and history begin anew."""

    def copied(self, source: int, target: int) -> Slot:
        slot = super().copied(source, target)
        slot.chain.reset()
        return slot


class ReusedSlot(Slots):
    """A text that comes into a slot after another keeps that one's chain, state and all."""

    chains: dict[int, Any]

    def change(self, change: Change) -> None:
        self.chains = vars(self).setdefault("chains", {})
        super().change(change)
        slot = self.slots.get(change.slot)
        if change.do == "join" and slot is not None:
            slot.chain = self.chains.get(change.slot, slot.chain)
        if slot is not None:
            self.chains[change.slot] = slot.chain


class MemoryStays(Slots):
    """A slot that was left keeps its memory, and the next text goes on behind it."""

    def left(self, slot: int) -> None:
        del self.slots[slot]


class RowsReadLate(Slots):
    """The logits of the last sequence are read after the next batch was decoded: stale ones."""

    stale: NDArray[np.float32] | None = None

    def take(
        self, step: SequencesStep, rows: NDArray[np.float32]
    ) -> tuple[list[int], list[Result]]:
        taken = super().take(step, rows)
        fresh = rows[-1].copy()
        if self.stale is not None:
            rows[-1] = self.stale
        self.stale = fresh
        return taken


class ChainOfNeighbour(Slots):
    """A sequence in an odd slot draws with the chain of the slot before it."""

    def sample(self, number: int, output: int) -> int:
        neighbour = self.slots.get(number - 1) if number % 2 else None
        if neighbour is None:
            return super().sample(number, output)
        return self.plain.sample(neighbour.chain, output)


class ResetOfAll(Slots):
    """A reset resets the chains of all slots."""

    def change(self, change: Change) -> None:
        for slot in self.slots.values() if change.do == "reset" else ():
            slot.chain.reset()
        super().change(change)


class PromptOfLateText(Slots):
    """A text that joins while others go on has not accepted its prompt."""

    def joined(self, text: int) -> Slot:
        slot = super().joined(text)
        if self.slots:
            slot.chain.reset()
        return slot


# Where each begins: b joins beside a; at step 3 a is copied into slot 2; at 4 b is reset; at 6 c
# comes into b's slot; at 7 d joins, which happens to draw the same token once.
FAULTS: dict[type[Slots], str] = {
    OutputOfAnother: "token, step 1: b in slot 1",  # which is sampled after a
    OutputsInOrderOfSlots: "logits, step 1: a in slot 0",  # the batch has b first
    TokensInOrderOfBatch: "token, step 1: a in slot 0",
    CopySharesItsChain: "token, step 3: a copied from 0 in slot 2",
    CopyBeginsAnew: "token, step 3: a copied from 0 in slot 2",
    ReusedSlot: "token, step 6: c in slot 1",
    MemoryStays: "logits, step 6: c in slot 1",
    RowsReadLate: "token, step 2: a in slot 0",  # the last that is sampled
    ChainOfNeighbour: "token, step 1: b in slot 1",
    ResetOfAll: "token, step 4: a in slot 0",
    PromptOfLateText: "token, step 8: d in slot 3",
}


def case() -> SequencesCase:
    """Four slots, two of them used twice; a copy, a reset; the batch turns."""

    def step(batch: list[int], *before: dict[str, Any]) -> dict[str, Any]:
        return {"before": before, "batch": batch, "sample": batch[::-1]}

    penalties = {"penalties": {"penalty_last_n": 4096, "penalty_repeat": 2.0}}
    top_k = {"top_k": {"k": 20}}
    texts = {
        name: {"chain": [penalties, top_k, {"dist": {"seed": seed}}], "prompt": prompt}
        for seed, (name, prompt) in enumerate(
            {"a": [5, 6, 7], "b": [9], "c": [300, 301], "d": list(range(2048))}.items()
        )
    }
    script = [
        step([1, 0], {"do": "join", "slot": 0, "text": 0}, {"do": "join", "slot": 1, "text": 1}),
        step([0, 1]),
        step([2, 1, 0], {"do": "copy", "slot": 2, "other": 0}),
        step([0, 2, 1], {"do": "reset", "slot": 1}),
        step([2, 0], {"do": "leave", "slot": 1}),
        step([0, 1, 2], {"do": "join", "slot": 1, "text": 2}),
        step([2, 1, 0, 3], {"do": "join", "slot": 3, "text": 3}),
        step([1, 3, 0]),
        step([3, 2, 1, 0]),
    ]
    return SequencesCase.model_validate(
        {
            "id": "sequences/made",
            "description": "Texts join, leave, are copied and reset in four slots",
            "why": "What sequences share and must have of their own.",
            "logits": {
                "together": MODEL,
                "slots": 4,
                "texts": texts,
                "script": script,
                "alone": True,
            },
            "steps": len(script),
        }
    )


@functools.cache  # of the right slots once
def check(make: type[Slots]) -> str:
    """Each sequence draws what the reference draws, from logits that its text has alone."""
    backend = InPlace("made", Worker(make))
    try:
        result = execute(case(), [backend]).backends["made"]
    finally:
        backend.close()
    at = "" if result.step is None else f" at {result.stage}, step {result.step + 1}"
    sequence = result.values.get("sequence", "")
    return "" if result.verdict == "identical" else f"{result.verdict}{at}: {sequence}"


def _name(fault: type[Slots]) -> str:
    words = "".join(
        f"-{letter.lower()}" if letter.isupper() else letter for letter in fault.__name__
    )
    return f"sequences/{words[1:]}"


PARTS = tuple(
    Part(_name(fault), fault, Slots, check, f"diverged at {cause} from step")
    for fault, cause in FAULTS.items()
)
