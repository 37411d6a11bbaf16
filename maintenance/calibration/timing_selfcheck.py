"""The self-check of the timings: their verdicts on equal backends, and on slowed-down ones.

In each trial one chain is timed on seven processes in the same rounds: the baseline, the baseline
again (the noise), a third of its kind (A/A), and ones slowed down by known shares (slow/N). Every
BATCH trials the processes are restarted, because the place of a process in memory changes its
speed. The verdicts are taken after 10, 20, 40 and 80 rounds.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.records import DetectionCurve, TimingCheckResult
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.rounds import RoundPlan, pin
from sampler_parity.harness.checks.timing.run import time_chain
from sampler_parity.harness.checks.timing.verdict import compare_rounds, noise_of, rounds_of
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.process import BackendProcess

# percent. docs/results/timing.md has what was noticed of each, after each number of rounds.
SLOW_DOWNS = (2.0, 5.0, 10.0, 25.0)
ROUNDS: tuple[int, ...] = (10, 20, 40, 80)
BATCH = 50  # trials with the same processes
EFFECT = 0.01  # the limit of `slower`; below the least slow-down
ALARM_RATE = 0.05  # nominal, of intervals of 95%
NATIVE = "llama.cpp"
REPEATED = "again"

CHAIN = TimedChain(
    id="selfcheck",
    sampler="top_k",
    chain=[{"temp": {"temp": 0.8}}, {"dist": {"seed": 1}}],  # as long each time it is applied
    logits=GeneratedLogits(family="normal", n=8192, seed=1),
)


@dataclass
class _Count:
    """Verdicts at one number of rounds."""

    slower: int = 0
    faster: int = 0
    inconclusive: int = 0
    off_one: int = 0
    seconds: list[float] = field(default_factory=list)


def selfcheck(
    trials: int, seed: int, say: Callable[[str], object], effect: float = EFFECT
) -> TimingCheckResult:
    """Run the trials. Raises BackendFailure if llama.cpp does not run here."""
    begun = time.monotonic()
    counts = {(percent, n): _Count() for percent in (0.0, *SLOW_DOWNS) for n in ROUNDS}
    noises: list[float] = []
    for first in range(0, trials, BATCH):
        processes = _processes()
        try:
            under = pin(processes)
            for trial in range(first, min(first + BATCH, trials)):
                result = time_chain(
                    CHAIN, processes, RoundPlan(max(ROUNDS), seed + trial, under=under)
                )
                noises.append(_count(counts, result, effect))
        finally:
            for process in processes:
                process.close()
        say(f"{min(first + BATCH, trials)}/{trials} trials, {time.monotonic() - begun:.0f} s")
    curves = [_curve(percent, counts, trials) for percent in (0.0, *SLOW_DOWNS)]
    allowed = ALARM_RATE * trials
    alarms = [s + f for s, f in zip(curves[0].slower, curves[0].faster, strict=True)]
    return TimingCheckResult(
        chain=" > ".join(name for stage in CHAIN.chain for name in stage),
        n_vocab=CHAIN.logits.n,
        effect=effect,
        alarm_rate=ALARM_RATE,
        curves=curves,
        noise=noises,
        met=all(n <= allowed for n in alarms),
        seed=seed,
        wall_s=time.monotonic() - begun,
    )


def slow_name(percent: float) -> str:
    return f"slow/{percent:g}"


def _processes() -> list[BackendProcess]:
    """Return the baseline, the baseline again, A/A, and the slowed-down ones."""
    command = registry.command_of(NATIVE)[1]
    processes = [BackendProcess(name, command) for name in (NATIVE, REPEATED, slow_name(0))]
    return [*processes, *(registry.start(slow_name(percent)) for percent in SLOW_DOWNS)]


def _count(counts: dict[tuple[float, int], _Count], result: TimingResult, effect: float) -> float:
    """Add the verdicts of one trial on every process after every number of rounds; return the
    noise."""
    rounds = {name: rounds_of(ns, result.repetitions) for name, ns in result.ns.items()}
    noise: float | None = None
    for n in ROUNDS:
        baseline, repeated = rounds[NATIVE][:n], rounds[REPEATED][:n]
        noise = noise_of(baseline, repeated)
        samples = n * result.repetitions
        for percent in (0.0, *SLOW_DOWNS):
            ours = rounds[slow_name(percent)][:n]
            comparison = compare_rounds(ours, baseline, noise, effect)
            count = counts[percent, n]
            count.slower += comparison.verdict == "slower"
            count.faster += comparison.verdict == "faster"
            count.inconclusive += comparison.verdict == "inconclusive"
            count.off_one += comparison.low > 1 or comparison.high < 1
            spent = [
                sum(result.ns[name][:samples]) + sum(result.setup_ns[name][:samples])
                for name in (NATIVE, REPEATED, slow_name(percent))
            ]
            count.seconds.append(sum(spent) / 1e9)
    return float("inf") if noise is None else noise


def _curve(percent: float, counts: dict[tuple[float, int], _Count], trials: int) -> DetectionCurve:
    per_length = [counts[percent, n] for n in ROUNDS]
    return DetectionCurve(
        percent=percent,
        rounds=list(ROUNDS),
        seconds=[float(np.median(count.seconds)) for count in per_length],
        slower=[count.slower for count in per_length],
        faster=[count.faster for count in per_length],
        inconclusive=[count.inconclusive for count in per_length],
        off_one=[count.off_one for count in per_length],
        trials=trials,
    )
