"""The judge of akunu_gumbel: filters by value, noise from exact uniforms, the first largest."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model.gumbel_max import element_seed, uniforms
from sampler_parity.engines.akunu.model.pipeline import effective_k, to_half
from sampler_parity.harness.correct.bounds import Interval, Reals, normal_from, of_function, of_sum
from sampler_parity.harness.correct.softmax import Softmax, softmax
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong
from sampler_parity.reference import floats

Mask = NDArray[np.bool_]


def akunu_gumbel(stage: Stage) -> None:
    """Judge the sums of logit and noise, what the filters removed, and the token.

    Uniform numbers are words of a hash, correctly rounded, so they are exact. Each log has its
    stated error e. That of the inner one is relative, so the noise g is off by e + |g| e.
    """
    stage.same_ids()
    stage.same_p()
    row = _penalized(stage)
    if stage.hull("temperature")[1] > 0:
        noisy = _with_noise(stage, row)
        removed = (stage.got.logits == -np.inf) & (row.low > -np.inf) & (noisy.low > -np.inf)
        _filtered(stage, row, removed)
        ends = [np.where(removed, -np.inf, end) for end in (noisy.low, noisy.high)]
        row = stage.interval(*ends)
    stage.logits_within(row)
    if stage.got.selected != floats.first_largest(stage.got.logits):
        raise Wrong("selected", got=stage.got.token, expected=stage.want.token)


def _penalized(stage: Stage) -> Interval:
    """Return the float16 logits, penalized once for each occurrence."""
    half = to_half(stage.before.logits).astype(np.float64)
    low, high = half.copy(), half.copy()
    if stage.hull("repeat_penalty") != (1, 1):
        penalty = stage.parameter("repeat_penalty")
        for token in stage.sampler.prev_tokens:
            if 0 <= token < len(half):
                x = stage.interval(low[token], high[token])
                either = [x / penalty] if x.high > 0 else []
                either += [x * penalty] if x.low <= 0 else []
                low[token] = min(float(one.low) for one in either)
                high[token] = max(float(one.high) for one in either)
    return stage.interval(low, high)


def _with_noise(stage: Stage, row: Interval) -> Interval:
    sampler, error = stage.sampler, of_function(stage.arithmetic)
    u = uniforms(element_seed(sampler.position, sampler.seed_offset), len(stage.before.ids))
    noise = -np.log(-np.log(u.astype(np.float64)))
    away = error * (1 + error) * (1 + abs(noise))
    noisy = row + stage.parameter("temperature") * stage.interval(noise - away, noise + away)
    if sampler.noise == "f32":
        return noisy
    with np.errstate(over="ignore"):
        ends = [end.astype(np.float16).astype(np.float64) for end in (noisy.low, noisy.high)]
    return stage.interval(*ends)


@dataclass
class _Filters:
    """What the filters see. row: the logits; of: their probabilities; removed, kept: by the engine;
    optional: what top_k and min_p may have removed."""

    stage: Stage
    row: Interval
    of: Softmax
    removed: Mask
    kept: Mask
    optional: Mask


def _filtered(stage: Stage, row: Interval, removed: Mask) -> None:
    """Judge which tokens are removed. Each filter is a lower bound on the values."""
    scaled = row / stage.parameter("temperature")
    of = softmax(scaled.low, scaled.high, stage.arithmetic)
    if not of.defined:
        stage.as_reference()
        return
    kept = (row.low > -np.inf) & ~removed
    exact = row.low == row.high
    if np.intersect1d(row.low[removed & exact], row.low[kept & exact]).size:
        raise Wrong("survivors", reason="of equal logits some are removed")
    if removed.any() and kept.any():
        apart = 2 * float(of.errors[removed | kept].max())
        if scaled.low[removed].max() > scaled.high[kept].min() + apart:
            raise Wrong("survivors", reason="a larger logit is removed")
    k = effective_k(stage.sampler.top_k, len(kept))
    optional = row.low < np.sort(row.high)[-k]
    surely = row.high < np.sort(row.low)[-k]
    low, high = (min(end, 1.0) for end in stage.hull("min_p"))
    if high > 0:
        likely, least = _shares_of_the_largest(stage, row, of)
        optional |= least < high
        surely |= likely < low
    if (kept & surely).any():
        raise Wrong("survivors", got=int(kept.sum()), most=int((~surely).sum()))
    _by_mass(_Filters(stage, row, of, removed, kept, optional))


def _shares_of_the_largest(stage: Stage, row: Interval, of: Softmax) -> tuple[Reals, Reals]:
    """Return the largest and the smallest p_i / max p that rounding explains. Equal logits have
    equal p, and a subnormal p may be 0."""
    top = int(of.p.argmax())
    share = of.p / of.p[top]
    error = of.errors + of.errors[top] + 2 * row.u
    equal = (row.low == row.low[top]) & (row.high == row.high[top]) & (row.low == row.high)
    error = np.where(equal, 0.0, error)
    least = np.where(of.p < 2 * normal_from(stage.arithmetic.probabilities), 0.0, share)
    return share * (1 + error), least * (1 - error)


def _by_mass(on: _Filters) -> None:
    """Require the smallest set of the most likely that reaches top_p, with all that equal its last.

    The mass has the error of each p, that of the normalizer and that of a sum.
    """
    stage, of, n = on.stage, on.of, len(on.kept)
    low, high = stage.hull("top_p")

    def mass(some: Mask) -> tuple[float, float]:
        p = of.p[some]
        sum_ = float(p.sum())
        return sum_, float((p * of.errors[some]).sum()) + sum_ * (
            of.common + of_sum(n, stage.arithmetic)
        )

    by_mass = on.removed & ~on.optional
    reached, error = mass(on.kept)
    if by_mass.any() and (low >= 1 or reached + error < low):
        raise Wrong("survivors", got=int(on.kept.sum()), mass=reached, threshold=low)
    last = int(np.where(on.kept, of.p, np.inf).argmin())
    before = on.kept & (of.p * (1 - of.errors) > of.p[last] * (1 + of.errors[last]))
    without, error = mass(before)
    if high < 1 and without - error >= high:
        raise Wrong("survivors", got=int(on.kept.sum()), mass=without, threshold=high)
    if low < 1:
        stage.cuts.append(Cut(int(without >= high) - int(by_mass.any() and reached < low)))


JUDGES = {"akunu_gumbel": akunu_gumbel}
