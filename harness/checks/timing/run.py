"""Interleaved timings: the same chain on several backends, round by round in random order.

The clock runs inside the backend, around its sampler calls alone. All samples are kept. A second
process of the baseline is timed in the same rounds: its apparent difference is the noise.
"""

import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.context import RunContext
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.instructions import counted
from sampler_parity.harness.checks.timing.rounds import RoundPlan, load, mhz_of, pin, started
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure

FLOOR = "null"
ROUNDS: dict[Profile, int] = {"quick": 15, "full": 30}
REPETITIONS = 3  # of a round, by choice; the fastest counts, which an interrupt seldom meets


@dataclass
class _Lane:
    """A backend and its samples. failed: why it has none."""

    backend: Backend
    ns: list[int] = field(default_factory=list)
    setup_ns: list[int] = field(default_factory=list)
    failed: str = ""
    _setting: client.Setting | None = None

    def __post_init__(self) -> None:
        self._watched = Watched(self.backend)

    def turn(self, timed: TimedChain, row: NDArray[np.float32], keep: bool) -> None:
        if self.failed:
            return
        try:
            reply = client.time(self.backend, self.setting(timed), row, REPETITIONS)
        except BackendFailure as failure:
            self._fail(f"{failure.verdict}: {failure}")
            return
        if keep:
            self.ns += reply.ns
            self.setup_ns += reply.setup_ns

    def end(self) -> None:
        """Check after the last turn whether the backend failed after its replies."""
        problem = self._watched.problem()
        if problem and not self.failed:
            self._fail(f"crashed: {problem}")

    def _fail(self, why: str) -> None:
        self.failed, self.ns, self.setup_ns = why, [], []

    def setting(self, timed: TimedChain) -> client.Setting:
        if self._setting is None:
            self._setting = setting_of(timed, self.backend.name)
        return self._setting


def measure(items: Sequence[CheckItem], context: RunContext) -> None:
    """Time chains on every backend, the first as the baseline."""
    terms, names = context.terms, list(context.terms.backends)
    with ExitStack() as stack:
        floor = [] if FLOOR in names else [FLOOR]
        *backends, second = started(stack, [*names, *floor, names[0]], terms)
        rounds = RoundPlan(
            terms.rounds or ROUNDS[terms.profile],
            terms.seed,
            second,
            pin([*backends, second]),
            context.progress,
        )
        for item in items:
            result = time_chain(item.check, backends, rounds)
            result = result.model_copy(update={"suite": item.suite})
            result = counted(result, item.check) if terms.instructions else result
            context.record([result])


def time_chain(timed: TimedChain, backends: Sequence[Backend], rounds: RoundPlan) -> TimingResult:
    """Time a chain on each backend, REPETITIONS a round, in ns; the first backend is the baseline.
    A backend that fails has no samples, and the result has the reason."""
    row = timed.row()
    under = rounds.under
    lanes = [_Lane(backend) for backend in backends]
    double = [_Lane(rounds.second)] if rounds.second else []
    order = random.Random(rounds.seed)
    mhz: list[float] = []
    for turn in rounds.turns():
        frequency = mhz_of(under.cpu)
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
        conditions=under.model_copy(update={"mhz": mhz, "load": load()}),
    )


def setting_of(timed: TimedChain, backend: str) -> client.Setting:
    path = vocab_path(timed.vocab) if timed.vocab else None
    n = timed.logits.n
    chain = complete(timed.instead.get(backend, timed.chain), n)
    return client.Setting(chain, n, str(path) if path else None, timed.history)
