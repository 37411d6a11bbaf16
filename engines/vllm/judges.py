"""The judges of the stages in which torch's exp, sums and sort decide."""

import numpy as np

from sampler_parity.harness.correct.bounds import is_exact, of_sum, sums_exactly, unit
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong


def logprobs(stage: Stage) -> None:
    """Require p to be the softmax of the logits: exp(log_softmax), or exp divided by its sum."""
    stage.same_ids()
    stage.same_logits()
    stage.none_selected()
    stage.probabilities()


def bans_from_below(stage: Stage) -> bool:
    """Require logits as they were, or banned and no larger than one that stays. Return whether
    top_p is on."""
    stage.all_but_logits()
    got, before = stage.got.logits, stage.before.logits
    banned = (got == -np.inf) & (before != -np.inf)
    stage.same("logits", np.where(banned, -np.inf, before), got)
    if stage.hull("top_p")[1] >= 1 or stage.before.selected >= 0 or not stage.softmax.defined:
        if banned.any():
            raise Wrong("logits", got=int(banned.sum()), expected=0)
        return False
    if banned.any() and before[banned].max() > got[got != -np.inf].min():
        raise Wrong("logits", reason="a larger logit is banned, a smaller one is not")
    return True


def top_p(stage: Stage) -> None:
    """Require the banned to be the least likely that together have no more than 1 - top_p.

    Each p has the errors of a softmax, each sum that of `of_sum`; 1 - top_p is rounded once. One
    number of tokens is right if p, its sums and 1 - top_p are exact. Any of equal logits may go.
    """
    if not bans_from_below(stage):
        return
    got = stage.got.logits
    exact, kind, order = stage.softmax, stage.arithmetic.sums, np.argsort(stage.softmax.p)
    p, each = exact.p[order], exact.errors[order]
    mass, error, n = np.cumsum(p), np.zeros(len(p)), int((got == -np.inf).sum())
    if not sums_exactly(p, kind):
        error = np.cumsum(p * each) + mass * (exact.common + of_sum(len(p), stage.arithmetic))
    low, high = (1 - value for value in reversed(stage.hull("top_p")))
    u = 0.0 if low == high and is_exact(low, kind) else unit(kind)
    if n and mass[n - 1] - error[n - 1] > high * (1 + u):
        rule = f"the banned have a mass of {mass[n - 1]:.9g}, above 1 - top_p = {high:.9g}"
        raise Wrong("survivors", got=len(p) - n, expected=len(p) - n + 1, rule=rule)
    if n < len(p) - 1 and mass[n] + error[n] <= low * (1 - u):
        rule = f"with one more the banned have {mass[n]:.9g}, and 1 - top_p is {low:.9g}"
        raise Wrong("survivors", got=len(p) - n, expected=len(p) - n - 1, rule=rule)
    stage.cuts.append(Cut(int(np.sign((mass[:-1] <= high).sum() - n))))


JUDGES = {"vllm_logprobs": logprobs, "vllm_top_p": top_p}
