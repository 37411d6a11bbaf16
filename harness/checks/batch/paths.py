"""The path of each live row of a batch through its script: its samples with their places, and the
same row alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sampler_parity.harness.protocol.live import Live
from sampler_parity.harness.protocol.messages import BatchSample, BatchStep, Operation

_JOIN: Operation = ("join", 0)
_RESET: Operation = ("reset", 0)


@dataclass(frozen=True)
class Where:
    """A row that samples: the step, its number among those that sample there, its place in the live
    batch, the number of live rows, and how often it sampled before."""

    step: int
    index: int
    at: int
    of: int
    nth: int


@dataclass
class Path:
    """A live row from when it joins. taken: its samples, each with the resets before it; a clone
    begins with those of its original. samples: where it sampled itself."""

    sequence: int
    taken: list[tuple[int, BatchSample]] = field(default_factory=list)
    samples: list[Where] = field(default_factory=list)
    resets: int = 0

    def clone(self) -> "Path":
        return Path(self.sequence, self.taken.copy(), resets=self.resets)

    def reset(self) -> None:
        self.resets += 1

    def alone(self) -> list[BatchStep]:
        """Return the script of a batch of this row alone, as sequence 0. It has no clone: a copy
        does the same as its original."""
        steps = []
        for i, (resets, sample) in enumerate(self.taken):
            before = [_JOIN] * (i == 0) + [_RESET] * resets
            steps.append(BatchStep(before=before, sample=[sample.model_copy(update={"at": 0})]))
        return steps


def paths(steps: Sequence[BatchStep]) -> list[Path]:
    """Return the path of each live row that samples, in the order in which they were created."""
    created: list[Path] = []

    def come(path: Path) -> Path:
        created.append(path)
        return path

    live = Live(lambda s: come(Path(s)), lambda path: come(path.clone()), Path.reset)
    for number, step in enumerate(steps):
        live.do(step.before)
        for index, sample in enumerate(step.sample):
            path = live.rows[sample.at]
            path.samples.append(Where(number, index, sample.at, len(live.rows), len(path.taken)))
            path.taken.append((path.resets, sample))
            path.resets = 0
    return [path for path in created if path.samples]


def mirrored(steps: Sequence[BatchStep]) -> list[BatchStep]:
    """Return the same script with the rows in reverse order while they sample, and sampled in
    reverse order. Between the steps they change back, because the script names their places."""
    live: Live[None] = Live(lambda s: None, lambda row: None, lambda row: None)
    turned: list[Operation] = []
    mirror = []
    for step in steps:
        live.do(step.before)
        n = len(live.rows)
        turn: list[Operation] = [("swap", i, n - 1 - i) for i in range(n // 2)]
        sample = [
            original.model_copy(update={"at": n - 1 - original.at})
            for original in reversed(step.sample)
        ]
        mirror.append(BatchStep(before=[*turned, *step.before, *turn], sample=sample))
        turned = turn
    return mirror
