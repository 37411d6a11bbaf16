"""The check of slots: sequences must not share the state that each must have of its own.

The slots are llama.cpp's own (harness/llama_cpp/sequences.py). They use the chains of the reference
and a context whose logits are made of the tokens in a sequence's memory.
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
from sampler_parity.harness.llama_cpp.decode import Further
from sampler_parity.harness.llama_cpp.sequences import Slots, take_all
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import HelloReply, SequencesReply, SequencesRequest
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.reference import Candidates

MODEL = "small"


class MadeContext:
    """A context whose logits are random numbers, seeded by what the sequence has in memory."""

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
    """The reference with slots. make: the class of slots to try."""

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


def case() -> SequencesCase:
    """Return a case with four slots, two of them used twice, a copy, a reset and changing
    batches."""

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
            "why": "State that sequences share, and state of their own.",
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
    """Check that each sequence draws what the reference draws from the logits of its text alone."""
    backend = InPlace("made", Worker(make))
    try:
        result = execute(case(), [backend]).backends["made"]
    finally:
        backend.close()
    at = "" if result.step is None else f" at {result.stage}, step {result.step + 1}"
    sequence = result.values.get("sequence", "")
    return "" if result.verdict == "identical" else f"{result.verdict}{at}: {sequence}"
