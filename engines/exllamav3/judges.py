"""The judges of ExLlamaV3's samplers, of whose p torch computes powers and sums."""

from collections.abc import Iterator
from copy import copy
from itertools import product
from typing import Any

import numpy as np

from sampler_parity.harness.correct.bounds import normal_from, of_function, of_sum, unit
from sampler_parity.harness.correct.stage import Stage
from sampler_parity.reference import Candidates


def p_of_all(stage: Stage) -> None:
    """Require p of the pipeline in float64 within rounding, for a threshold where rounding puts it.

    p has the errors of a softmax, max(1, 1 / T) times behind a temperature or a power 1 / T. The
    power adds its own error, and that of its exponent: u |log p| / T. p is normalized at most three
    times: each costs `of_sum` and 3 u. The last normalizer also has the mean of the errors. A
    threshold is compared with two p at most: it is moved by twice the largest error of a p.
    """
    stage.same_ids()
    stage.same_logits()
    if stage.want.selected >= 0 or not stage.softmax.defined:
        stage.as_reference()
        return
    stage.none_selected()
    exact, n, u = stage.softmax, len(stage.before.ids), unit(stage.arithmetic.probabilities)
    scale = max(1.0, 1 / getattr(stage.sampler, "temperature", 1.0))
    tiny = normal_from("float32")
    error = scale * (exact.errors + exact.common - np.log(np.maximum(exact.p, tiny)) * u)
    error += of_function(stage.arithmetic) + 3 * (of_sum(n, stage.arithmetic) + 3 * u)
    for sampler in _leaning(stage.sampler, 2 * float(error[exact.p > tiny].max())):
        cand = Candidates(stage.before.ids, stage.before.low.copy(), np.zeros(n))
        sampler.apply(cand)
        allowed = cand.p * (error + float((cand.p * error).sum())) + tiny
        if (abs(stage.got.p - cand.p) <= allowed).all() and (stage.got.p[cand.p == 0] == 0).all():
            return
    i = int(abs(stage.got.p - stage.want.p).argmax())
    stage.wrong("p", i, expected=float(stage.want.p[i]), allowed=float(error[i]))


def _leaning(sampler: Any, error: float) -> Iterator[Any]:
    """Yield the sampler with its thresholds as they are, a little lower and a little higher."""
    thresholds = ("min_p", "top_p", "threshold")
    names = [name for name in thresholds if getattr(sampler, name, 0) not in (0, 1)]
    for leans in product((0.0, -error, error), repeat=len(names)):
        one = copy(sampler)
        for name, lean in zip(names, leans, strict=True):
            setattr(one, name, getattr(sampler, name) * (1 + lean))
        yield one


JUDGES = {"exllamav3_combo": p_of_all, "exllamav3_xtc": p_of_all}
