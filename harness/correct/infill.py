"""The judge of infill."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampler_parity.harness.correct.bounds import (
    Decision,
    beside,
    of_sum,
    sums_exactly,
    unit,
    zero_below,
)
from sampler_parity.harness.correct.stage import Cut, Stage, Wrong
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.infill import Infill

_MOST = 512  # reachable results that are tried


class Choosing(Infill):
    """infill in float64 that follows a script in each comparison within a relative error.

    made: the decisions of this kind, first those of the script, then those of the numbers.
    """

    def __init__(self, like: Infill, error: float, script: list[bool]) -> None:
        super().__init__(like.vocab)
        self.error, self.script, self.made = error, script, list[bool]()
        self.decided: frozenset[Decision] = frozenset()

    def _exceeds(self, a: Any, b: Any) -> bool:
        exceeds = bool(a > b)
        if abs(a - b) > self.error * max(abs(a), abs(b)):
            return exceeds
        at = len(self.made)
        self.made.append(self.script[at] if at < len(self.script) else exceeds)
        return self.made[-1]

    def _drop_text_below(self, cand: Candidates, threshold: Any) -> None:
        if np.frexp(threshold)[0] == 0.5 and sums_exactly(cand.p, "float32"):
            self.decided = beside(["comparison"], cand.p, (float(threshold), float(threshold)))
            below = cand.p < threshold
        else:
            below = np.array([self._exceeds(np.float64(threshold), p) for p in cand.p])
        cand.keep(~below | cand.among(self.eog))


def infill(stage: Stage) -> None:
    """Judge by all results that rounding can reach.

    Every p has the errors of a softmax, of merging and of two normalizations; a comparison within
    that of its threshold may go either way. Equal logits are merged in any stable order. If sums
    and threshold are exact at the second cut, as 1/2 + 1/4 + 1/4 and 1/4, one answer is right.
    """
    exact = stage.softmax
    if not exact.defined:
        if not np.array_equal(stage.got.ids, stage.want.ids):
            stage.as_reference()
        return
    n = len(stage.before.ids)
    error = float(exact.errors[exact.p > 0].max()) + exact.common
    error += 3 * (of_sum(n, stage.arithmetic) + 3 * unit(stage.arithmetic.probabilities))
    problem = Wrong("survivors", got=len(stage.got.ids), expected=len(stage.want))
    for result, decided in _reachable(stage, 2 * error):
        if set(result.ids.tolist()) != set(stage.got.ids.tolist()):
            continue
        try:
            _like(stage, result, 4 * error)
            stage.cuts.append(Cut(0, decided))
            return
        except Wrong as wrong:
            problem = wrong
    raise problem


def _reachable(stage: Stage, error: float) -> Iterator[tuple[Candidates, frozenset[Decision]]]:
    """Yield the results of every combination of near decisions, of both orders of equal logits."""
    orders = [np.argsort(-stage.before.low, kind="stable")]
    want_order = stage.before.candidates()
    want_order.softmax(sort=True)
    places = {token: i for i, token in enumerate(stage.before.ids.tolist())}
    orders.append(np.array([places[token] for token in want_order.ids.tolist()]))
    open_scripts = [(order, list[bool]()) for order in orders]
    for _ in range(_MOST):
        if not open_scripts:
            return
        order, script = open_scripts.pop(0)
        cand = Candidates(
            stage.before.ids[order],
            stage.before.logits[order].astype(np.float64),
            np.zeros(len(order)),
            sorted=True,
        )
        sampler = Choosing(stage.sampler, error, script)
        sampler.apply(cand)
        open_scripts += [
            (order, [*sampler.made[:at], not sampler.made[at]])
            for at in range(len(script), len(sampler.made))
        ]
        yield cand, sampler.decided


def _like(stage: Stage, result: Candidates, error: float) -> None:
    index = {token: i for i, token in enumerate(result.ids.tolist())}
    at = np.array([index[token] for token in stage.got.ids.tolist()], np.int64)
    logits, p = result.logits[at], result.p[at]
    if not np.array_equal(logits.astype(np.float32), stage.got.logits):
        raise Wrong("logits", reason="merged otherwise")
    share = dict(zip(stage.before.ids.tolist(), stage.softmax.p.tolist(), strict=True))
    earlier = np.array([share.get(token, 1.0) for token in stage.got.ids.tolist()])
    scale = p / np.maximum(earlier, 1e-300)  # a p that is not normal has an absolute error
    smallest = max(zero_below(stage.arithmetic.probabilities), zero_below("float32"))
    if not (abs(stage.got.p - p) <= error * p + 6 * smallest * np.maximum(scale, 1)).all():
        raise Wrong("p", allowed=error)
    if (np.diff(at) < 0).any() and (np.diff(logits) > 0).any():
        raise Wrong("ids", reason="a larger logit comes after it")
