"""Scripts of a batch, by name: the order in which sequences join, leave, are cloned and sample.

Each uses a random generator, and gives every row another row of logits in every step.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sampler_parity.harness.protocol.messages import BatchStep

Name = Literal["steady", "shuffled", "slots", "condensed", "clones", "serving"]


@dataclass
class Writer:
    """A script being written. size: the most rows that are live. sequences: their number; after the
    last the first joins again. rows: of logits, more than are live."""

    rng: np.random.Generator
    size: int
    sequences: int
    rows: int
    n_vocab: int
    live: int = 0
    joined: int = 0
    written: int = 0

    def join(self) -> list[Any]:
        self.live, self.joined = self.live + 1, self.joined + 1
        return ["join", (self.joined - 1) % self.sequences]

    def clone(self) -> list[Any]:
        self.live += 1
        return ["clone", int(self.rng.integers(self.live - 1))]

    def leave(self, at: int | None = None) -> list[Any]:
        at = int(self.rng.integers(self.live)) if at is None else at
        self.live -= 1
        return ["leave", at]

    def swap(self) -> list[Any]:
        # it may be the same row twice, which must change nothing
        return ["swap", *(int(i) for i in self.rng.choice(self.live, 2))]

    def fill(self) -> list[Any]:
        return [self.join() for _ in range(self.size - self.live)]

    def step(self, before: Iterable[Any], places: Iterable[Any], varied: bool = False) -> BatchStep:
        """Return a step. varied: some rows accept nothing, or a random token."""
        sample = []
        for at in places:
            self.written += 1
            accept: Any = "selected"
            if varied and self.rng.random() < 0.2:
                accept = None if self.rng.random() < 0.5 else int(self.rng.integers(self.n_vocab))
            row = self.written % self.rows
            sample.append({"at": int(at), "row": row, "accept": accept})
        return BatchStep.model_validate({"before": list(before), "sample": sample})


def steady(script: Writer) -> BatchStep:
    """Let all rows join and sample, in the order of their places."""
    return script.step(script.fill(), range(script.live))


def shuffled(script: Writer) -> BatchStep:
    """Swap rows, and sample in any order."""
    before = script.fill() + [script.swap() for _ in range(2)]
    return script.step(before, script.rng.permutation(script.live))


def slots(script: Writer) -> BatchStep:
    """Replace a row in each step, like the slots of a server: one leaves, another joins."""
    before = [script.leave()] if script.live else []
    return script.step(before + script.fill(), range(script.live))


def condensed(script: Writer) -> BatchStep:
    """Move the last row into the place of the one that leaves; the row that joined last waits."""
    before = []
    if script.live > 1:
        before = [["swap", int(script.rng.integers(script.live)), script.live - 1]]
        before.append(script.leave(script.live - 1))
    before += script.fill()
    return script.step(before, range(max(1, script.live - 1)))


def clones(script: Writer) -> BatchStep:
    """Let half of the rows join and clone the others; originals leave, and clones are cloned."""
    before = [script.leave(0)] if script.live > 1 else []
    while script.live < max(1, script.size // 2):
        before.append(script.join())
    before += [script.clone() for _ in range(script.size - script.live)]
    return script.step(before, range(script.live))


def serving(script: Writer) -> BatchStep:
    """Choose everything at random: rows that join, leave, are cloned, moved or reset, rows that
    sample, and accepted tokens."""
    rng, before = script.rng, []
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.choice(["join", "leave", "clone", "swap", "reset"])
        if script.live == 0 or (kind == "join" and script.live < script.size):
            before.append(script.join())
        elif kind == "clone" and script.live < script.size:
            before.append(script.clone())
        elif kind == "leave" and script.live > 1:
            before.append(script.leave())
        elif kind == "swap":
            before.append(script.swap())
        else:
            before.append(["reset", int(rng.integers(script.live))])
    if rng.random() < 0.5:
        before += script.fill()
    sampling = rng.permutation(script.live)[: int(rng.integers(1, script.live + 1))]
    return script.step(before, sampling, varied=True)


SCRIPTS: dict[Name, Callable[[Writer], BatchStep]] = {
    "steady": steady,
    "shuffled": shuffled,
    "slots": slots,
    "condensed": condensed,
    "clones": clones,
    "serving": serving,
}
