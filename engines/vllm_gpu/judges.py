"""The judges of the stages in which exp, log and sums of blocks decide."""

import numpy as np

from sampler_parity.engines.vllm.judges import bans_from_below, logprobs
from sampler_parity.harness.correct.bounds import is_exact, of_sum, sums_exactly, unit
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong


def top_p(stage: Stage) -> None:
    """Require those that stay to be the most likely whose mass is top_p or more, none too many.

    Each p has the errors of a softmax, each sum that of `of_sum`. Any of equal logits may stay. If
    the cut falls among the least likely, all stay.
    """
    if not bans_from_below(stage):
        return
    got, before = stage.got.logits, stage.before.logits
    finite = before != -np.inf
    exact, kind, order = stage.softmax, stage.arithmetic.sums, np.argsort(-stage.softmax.p)
    p, each = exact.p[order], exact.errors[order]
    mass, error = np.cumsum(p), np.zeros(len(p))
    if not sums_exactly(p, kind):
        error = np.cumsum(p * each) + mass * (exact.common + of_sum(len(p), stage.arithmetic))
    low, high = stage.hull("top_p")
    u = 0.0 if low == high and is_exact(low, kind) else unit(kind)
    n = int((got != -np.inf).sum())
    if n < finite.sum() and mass[n - 1] + error[n - 1] < low * (1 - u):
        raise Wrong("survivors", got=n, mass=float(mass[n - 1]), threshold=low)
    # All stay: the cut may lie anywhere among those that equal the smallest.
    fewest = n if n < finite.sum() else int((before > before[finite].min()).sum()) + 1
    if fewest > 1 and mass[fewest - 2] - error[fewest - 2] >= high * (1 + u):
        raise Wrong("survivors", got=n, mass=float(mass[fewest - 2]), threshold=high)
    stage.cuts.append(Cut(int(np.sign(n - ((mass < low).sum() + 1)))))


JUDGES = {"vllm_gpu_logprobs": logprobs, "vllm_gpu_top_p": top_p}
