"""The way of each live row of a batch through its script: what it does where, and what it does
alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchStep, Operation, Sampled

_JOIN: Operation = ("join", 0)
_RESET: Operation = ("reset", 0)


@dataclass(frozen=True)
class Where:
    """A row that samples: the step, its number among those that sample there, its place in the live
    batch, how many are live, and how often its row had sampled before."""

    step: int
    index: int
    at: int
    of: int
    nth: int


@dataclass
class Path:
    """A live row from its joining on. taken: what it sampled, as a clone with what its original had
    before, each with the resets before it. own: where it sampled itself."""

    sequence: int
    taken: list[tuple[int, Sampled]] = field(default_factory=list)
    own: list[Where] = field(default_factory=list)
    resets: int = 0

    def clone(self) -> "Path":
        return Path(self.sequence, self.taken.copy(), resets=self.resets)

    def reset(self) -> None:
        self.resets += 1

    def alone(self) -> list[BatchStep]:
        """The script of a batch of this row and no other, of sequence 0. No clone is made: what a
        copy does, its original would have done."""
        steps = []
        for i, (resets, one) in enumerate(self.taken):
            before = [_JOIN] * (i == 0) + [_RESET] * resets
            steps.append(BatchStep(before=before, sample=[one.model_copy(update={"at": 0})]))
        return steps


def paths(steps: Sequence[BatchStep]) -> list[Path]:
    """Of each live row that samples, in the order in which they came to be."""
    every: list[Path] = []

    def come(path: Path) -> Path:
        every.append(path)
        return path

    live = Live(lambda s: come(Path(s)), lambda path: come(path.clone()), Path.reset)
    for number, step in enumerate(steps):
        live.do(step.before)
        for index, one in enumerate(step.sample):
            path = live.rows[one.at]
            path.own.append(Where(number, index, one.at, len(live.rows), len(path.taken)))
            path.taken.append((path.resets, one))
            path.resets = 0
    return [path for path in every if path.own]


def mirrored(steps: Sequence[BatchStep]) -> list[BatchStep]:
    """The same with the rows in the opposite order whenever they sample, and sampling in the
    opposite order; between the steps they change back, for what the script does."""
    live: Live[None] = Live(lambda s: None, lambda row: None, lambda row: None)
    turned: list[Operation] = []
    mirror = []
    for step in steps:
        live.do(step.before)
        n = len(live.rows)
        turn: list[Operation] = [("swap", i, n - 1 - i) for i in range(n // 2)]
        sample = [one.model_copy(update={"at": n - 1 - one.at}) for one in reversed(step.sample)]
        mirror.append(BatchStep(before=[*turned, *step.before, *turn], sample=sample))
        turned = turn
    return mirror
