"""The judge of power_law."""

import numpy as np

from sampler_parity.engines.power_law.model import FAR_LOGIT, FLT_EPSILON
from sampler_parity.harness.correct.bounds import Interval, of_function
from sampler_parity.harness.correct.draws import absolute, discrete, selected
from sampler_parity.harness.correct.stage import Stage, Wrong


def power_law(stage: Stage) -> None:
    """Judge logits that favour probabilities near a target, an interval, and a draw.

    Every operation of the transform is rounded once; the power has its stated error. p before has
    the errors of a softmax, and so has the history, which gets p of the engine's own token. The new
    p are the softmax of the logits that the engine itself reports.
    """
    stage.same_ids()
    if not stage.softmax.defined:
        stage.as_reference()
        return
    p = stage.shares()
    distance = absolute(p - _target(stage))
    if stage.sampler.distribution_width <= FLT_EPSILON:
        _nearest_alone(stage, distance)
    else:
        of_power = of_function(stage.arithmetic)
        ratio = distance / stage.parameter("distribution_width")
        tail = stage.hull("tail_heaviness")
        with np.errstate(all="ignore"):
            ends = [end**t for end in (ratio.low, ratio.high) for t in tail]
        power = stage.interval(np.minimum.reduce(ends), np.maximum.reduce(ends)).widened(of_power)
        stage.logits_within(stage.parameter("peak_logit_value") / (power + 1.0))
    stage.probabilities_of_report()
    discrete(stage, stage.sampler.rng)
    chosen = selected(stage)
    low, high = p.low[chosen], p.high[chosen]
    past = stage.memory.get("history", stage.interval(np.empty(0), np.empty(0)))
    stage.memory["history"] = stage.interval(np.append(past.low, low), np.append(past.high, high))


def _target(stage: Stage) -> Interval:
    size, past = stage.sampler.queue_size, stage.memory.get("history")
    if past is None:
        return stage.parameter("target")
    total = stage.interval(0.0)
    first = max(0, len(past.low) - size + 1)
    for low, high in zip(past.low[first:], past.high[first:], strict=True):
        total = total + stage.interval(low, high)
    following = stage.parameter("target") * float(size) - total
    least, most = stage.parameter("min_target"), stage.parameter("max_target")
    low = np.maximum(least.low, np.minimum(following.low, most.low))
    high = np.maximum(least.high, np.minimum(following.high, most.high))
    return stage.interval(low, high)


def _nearest_alone(stage: Stage, distance: Interval) -> None:
    """Require the peak at the first of its logit that may be the nearest, the rest far away."""
    far, got = stage.got.logits == FAR_LOGIT, stage.got.logits
    peak = float(stage.sampler.peak_logit_value)
    nearest = np.flatnonzero(got == np.float32(peak))
    if len(nearest) != 1 or not (far | (got == np.float32(peak))).all():
        raise Wrong("logits", reason="not one token alone has the peak")
    before = stage.before.logits
    if nearest[0] != (before == before[nearest[0]]).argmax():
        stage.wrong("logits", int(nearest[0]), reason="an equal one comes before it")
    if distance.low[nearest[0]] > distance.high.min():
        stage.wrong("logits", int(nearest[0]), reason="another one is nearer to the target")


JUDGES = {"power_law": power_law}
