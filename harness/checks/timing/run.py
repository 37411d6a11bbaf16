"""Interleaved timings: the same chain on several backends, round by round in random order.

The clock runs inside the backend, around its sampler calls alone. All samples are kept. A second
process of the baseline is timed in the same rounds: what it seems to differ by is the noise.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.timing import conditions
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.record import Conditions, TimingResult
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol.interface import Backend, BackendFailure

Round = Callable[[int, int], object]  # is told the number of each as it begins, and of how many

REPETITIONS = 3  # of a round, by choice; the fastest counts, which an interrupt seldom meets


@dataclass
class _Lane:
    """A backend and its samples. failed: why it has none."""

    backend: Backend
    ns: list[int] = field(default_factory=list)
    setup_ns: list[int] = field(default_factory=list)
    failed: str = ""
    _setting: ask.Setting | None = None

    def __post_init__(self) -> None:
        self._watched = Watched(self.backend)

    def turn(self, timed: TimedChain, row: NDArray[np.float32], keep: bool) -> None:
        if self.failed:
            return
        try:
            reply = ask.time(self.backend, self.setting(timed), row, REPETITIONS)
        except BackendFailure as failure:
            self._fail(f"{failure.verdict}: {failure}")
            return
        if keep:
            self.ns += reply.ns
            self.setup_ns += reply.setup_ns

    def end(self) -> None:
        """After the last turn: what the backend did after its replies counts, too."""
        problem = self._watched.problem()
        if problem and not self.failed:
            self._fail(f"crashed: {problem}")

    def _fail(self, why: str) -> None:
        self.failed, self.ns, self.setup_ns = why, [], []

    def setting(self, timed: TimedChain) -> ask.Setting:
        if self._setting is None:
            self._setting = _setting(timed, self.backend.name)
        return self._setting


def time_chain(
    timed: TimedChain,
    backends: Sequence[Backend],
    rounds: int,
    seed: int,
    again: Backend | None = None,
    under: Conditions | None = None,
    begins: Round = lambda number, of: None,
) -> TimingResult:
    """rounds x REPETITIONS samples on each backend, in ns; the first is the baseline.

    again: a second process of the baseline. under: how they were pinned. A backend that fails has
    no samples, and the result says why.
    """
    row = timed.row()
    under = under or Conditions(unpinned="not asked for")
    lanes = [_Lane(backend) for backend in backends]
    double = [_Lane(again)] if again else []
    order = random.Random(seed)
    mhz: list[float] = []
    for turn in range(rounds + 1):
        begins(turn, rounds)
        frequency = conditions.mhz_of(under.cpu)
        for lane in order.sample(lanes + double, len(lanes + double)):
            lane.turn(timed, row, keep=turn > 0)  # the first round warms up
        if turn > 0 and frequency is not None:
            mhz.append(frequency)
    for lane in lanes + double:
        lane.end()
    return TimingResult(
        id=timed.result_id,
        sampler=timed.sampler,
        n_vocab=timed.logits.n,
        repetitions=REPETITIONS,
        ns={lane.backend.name: lane.ns for lane in lanes if lane.ns},
        baseline=backends[0].name,
        again=double[0].ns if double else [],
        setup_ns={lane.backend.name: lane.setup_ns for lane in lanes if lane.setup_ns},
        failed={lane.backend.name: lane.failed for lane in lanes if lane.failed},
        group=timed.group or timed.id,
        last_n=len(timed.history),
        masked=timed.masked,
        steady=timed.steady,
        conditions=under.model_copy(update={"mhz": mhz, "load": conditions.load()}),
    )


def _setting(timed: TimedChain, backend: str) -> ask.Setting:
    path = vocab_path(timed.vocab) if timed.vocab else None
    n = timed.logits.n
    chain = complete(timed.instead.get(backend, timed.chain), n)
    return ask.Setting(chain, n, str(path) if path else None, timed.history)
