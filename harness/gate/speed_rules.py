"""The gate's rules about cost: time compared with a baseline, and passes that a trie saves.

A comparison decides only if its interval lies on one side of the limit. The interval is widened by
the noise of its run: by how much the baseline seems to differ from itself. Otherwise the comparison
is inconclusive: measure more; until then nothing passes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.replay import replay
from sampler_parity.harness.checks.timed_records import SkipRatioResult, TimingResult
from sampler_parity.harness.checks.timing.verdict import compare_rounds, noise_of, rounds_of
from sampler_parity.harness.gate.policy import Policy, SpeedRule
from sampler_parity.harness.gate.records import GateFinding, RuleOutcome, State
from sampler_parity.harness.gate.rules import Allowances, Judgement, by_first_rule, finding, ran
from sampler_parity.harness.statistics.bootstrap import bootstrap_interval, ratio_of_medians
from sampler_parity.harness.suite.ids import id_fits

_RESAMPLES = 2000  # twice that of reports: a gate may ask for 99%
MORE = "measure again, with more rounds (docs/reference/policy.md)"


@dataclass(frozen=True)
class TimeRatio:
    """A time over the baseline's, its interval, and how much the baseline differs from itself."""

    ratio: float
    low: float
    high: float
    noise: float | None

    def __str__(self) -> str:
        noise = "not measured" if self.noise is None else f"{self.noise:.1%}"
        return f"{self.ratio:.3f} [{self.low:.3f}, {self.high:.3f}], noise {noise}"


def judge_speed(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every timed chain of every backend that ran."""
    old = {timing.id: timing for timing in baseline.of(TimingResult)} if baseline else {}

    def judge(rule: SpeedRule, result: tuple[TimingResult, str]) -> Judgement:
        timing, backend = result
        if rule.baseline is not None:
            ratio = ratio_in_run(timing, backend, rule.baseline, rule.confidence)
        elif baseline is not None:
            reason = other_machine(bundle, baseline)
            ratio = reason or ratio_across_runs(timing, old.get(timing.id), backend, rule)
        else:
            return None
        return _judge(bundle, timing, backend, rule, ratio)

    return by_first_rule(
        "speed",
        policy.rules("speed"),
        ((timing, backend) for timing in bundle.of(TimingResult) for backend in ran(bundle)),
        lambda rule, result: (
            result[1] not in (rule.baseline, rule.anchor)
            and rule.fits((result[1], rule.backend))
            and id_fits(result[0].id, rule.chain)
        ),
        judge,
    )


def _judge(
    bundle: Bundle, timing: TimingResult, backend: str, rule: SpeedRule, ratio: TimeRatio | str
) -> Judgement:
    """Judge a ratio. ratio: or the reason why there is none."""
    to = rule.baseline or f"{backend} of the baseline bundle, by {rule.anchor}"
    subject = f"{timing.id} on {backend}"
    limit = f"at most {rule.max_ratio:g} times {to} ({rule.confidence:.0%})"
    names = [name for name in (rule.baseline, backend) if name]
    command = replay(bundle.info, timing.suite or "timing", timing.id, names)
    if isinstance(ratio, str):
        return finding("unjudged", subject, ratio, limit, command)
    state = state_of_ratio(ratio, rule.max_ratio)
    if state == "met":
        return "met"
    fix = MORE if state == "unjudged" else ""
    return finding(state, subject, str(ratio), limit, command, fix)


def state_of_ratio(ratio: TimeRatio, max_ratio: float) -> State:
    """Return failed: surely above the limit; met: surely within it; unjudged: the run is too noisy.
    Both ends of the interval are moved outwards by the noise."""
    if ratio.noise is None:
        return "unjudged"
    if ratio.low > max_ratio * (1 + ratio.noise):
        return "failed"
    return "met" if ratio.high * (1 + ratio.noise) <= max_ratio else "unjudged"


def ratio_in_run(
    timing: TimingResult, backend: str, baseline: str, confidence: float
) -> TimeRatio | str:
    """Compare with a backend of the same run, round by round; or return why there is no ratio."""
    for name in (backend, baseline):
        if not timing.ns.get(name):
            return timing.failed.get(name) or f"{name} was not timed"
    ours, theirs = (rounds_of(timing.ns[name], timing.repetitions) for name in (backend, baseline))
    compared = compare_rounds(ours, theirs, _noise(timing), 0.0, confidence)
    if not np.isfinite([compared.ratio, compared.low, compared.high]).all():
        return compared.why
    return TimeRatio(compared.ratio, compared.low, compared.high, compared.noise)


def _noise(timing: TimingResult) -> float | None:
    first = rounds_of(timing.ns.get(timing.baseline, []), timing.repetitions)
    return noise_of(first, rounds_of(timing.again, timing.repetitions))


def ratio_across_runs(
    timing: TimingResult, old: TimingResult | None, backend: str, rule: SpeedRule
) -> TimeRatio | str:
    """Compare with the same backend of another run, both by the anchor of their own run."""
    if old is None:
        return "was not timed in the baseline bundle"
    assert rule.anchor is not None
    ratios: list[NDArray[np.float64]] = []
    for where, run in (("this", timing), ("the baseline", old)):
        ours, anchor = (
            rounds_of(run.ns.get(name, []), run.repetitions) for name in (backend, rule.anchor)
        )
        if len(ours) < 2 or len(ours) != len(anchor) or not (anchor > 0).all():
            return (
                f"{backend} and {rule.anchor} were not timed in the same rounds of {where} bundle"
            )
        ratios.append(ours / anchor)
    noises = [_noise(timing), _noise(old)]
    low, high = bootstrap_interval(tuple(ratios), ratio_of_medians, _RESAMPLES, rule.confidence)
    value = float(ratio_of_medians(ratios[0], ratios[1]))
    # If either run did not measure its noise, the ratio cannot be judged.
    noise = None if None in noises else max(n for n in noises if n is not None)
    return TimeRatio(value, low, high, noise)


def other_machine(bundle: Bundle, baseline: Bundle) -> str:
    """Return why the times of two bundles cannot be compared; "" if they can."""
    for what in ("cpu", "machine", "cores", "system"):
        now, was = (getattr(b.info.machine, what) for b in (bundle, baseline))
        if now != was:
            return f"the baseline was timed on another machine: {what} {was}, here {now}"
    return ""


def judge_skip_ratios(
    bundle: Bundle, baseline: Bundle | None, policy: Policy, allowances: Allowances
) -> list[RuleOutcome]:
    """Judge every workload of the token trie."""
    return by_first_rule(
        "skip_ratio",
        policy.rules("skip_ratio"),
        bundle.of(SkipRatioResult),
        lambda rule, result: (
            rule.fits((result.backend, rule.backend)) and id_fits(result.id, rule.workload)
        ),
        lambda rule, result: _skip_finding(bundle, result, rule.min_skip_ratio) or "met",
    )


def _skip_finding(bundle: Bundle, result: SkipRatioResult, least: float) -> GateFinding | None:
    command = replay(bundle.info, result.suite, result.workload, [result.backend])
    limit = f"at least {least:g}"
    if result.skip_ratio_mean is None:
        figure = f"{result.verdict}: {result.detail}"
    elif result.skip_ratio_mean < least:
        figure = f"{result.skip_ratio_mean:.4f}"
    elif not result.checks:
        return finding("unjudged", result.id, "nothing was checked", "the suite's checks", command)
    else:
        missed = next((check for check in result.checks if not check.met), None)
        if missed is None:
            return None
        figure = f"{missed.what} {missed.found:g}"
        limit = f"{missed.relation} {missed.limit:g}"
    return finding("failed", result.id, figure, limit, command)
