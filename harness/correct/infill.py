"""The judge of infill."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from sampler_parity.harness.correct.bounds import of_sum, unit
from sampler_parity.harness.correct.stage import Stage, Wrong
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.infill import Infill

_NEAR = (1.0, -1.0)


class Leaning(Infill):
    """infill in float64 with each of its three comparisons leaning to one side by a small share."""

    def __init__(self, like: Infill, leans: tuple[float, ...]) -> None:
        super().__init__(like.vocab)
        self.leans, self.drops = leans, 0

    def _ends(self, p_end: Any, p_text: Any) -> bool:
        return bool(p_end * (1 + self.leans[0]) > p_text)

    def _drop_text_below(self, cand: Candidates, threshold: Any) -> None:
        self.drops += 1
        lean = self.leans[min(self.drops, 2)]
        super()._drop_text_below(cand, np.float64(threshold) * (1 + lean))  # type: ignore[arg-type]


def infill(stage: Stage) -> None:
    """Judge by all results that rounding can reach.

    Every p has the errors of a softmax, of merging and of two normalizations; a comparison within
    that of its threshold may go either way. Equal logits are merged in any stable order.
    """
    exact = stage.softmax
    if not exact.defined:
        if not np.array_equal(stage.got.ids, stage.want.ids):
            stage.as_reference()
        return
    n = len(stage.before.ids)
    error = float(exact.each[exact.p > 0].max()) + exact.common
    error += 3 * (of_sum(n, stage.arithmetic) + 3 * unit(stage.arithmetic.probabilities))
    problem = Wrong("survivors", got=len(stage.got.ids), expected=len(stage.want))
    for result in _reachable(stage, 2 * error):
        if set(result.ids.tolist()) != set(stage.got.ids.tolist()):
            continue
        try:
            _like(stage, result, 4 * error)
            return
        except Wrong as wrong:
            problem = wrong
    raise problem


def _reachable(stage: Stage, error: float) -> Iterator[Candidates]:
    orders = [np.argsort(-stage.before.low, kind="stable")]
    want_order = stage.before.candidates()
    want_order.softmax(sort=True)
    places = {token: i for i, token in enumerate(stage.before.ids.tolist())}
    orders.append(np.array([places[token] for token in want_order.ids.tolist()]))
    for order, *signs in product(orders, _NEAR, _NEAR, _NEAR):
        cand = Candidates(
            stage.before.ids[order],
            stage.before.logits[order].astype(np.float64),
            np.zeros(len(order)),
            sorted=True,
        )
        Leaning(stage.sampler, tuple(error * sign for sign in signs)).apply(cand)
        yield cand


def _like(stage: Stage, result: Candidates, error: float) -> None:
    place = {token: i for i, token in enumerate(result.ids.tolist())}
    at = np.array([place[token] for token in stage.got.ids.tolist()], np.int64)
    logits, p = result.logits[at], result.p[at]
    if not np.array_equal(logits.astype(np.float32), stage.got.logits):
        raise Wrong("logits", reason="merged otherwise")
    if not (abs(stage.got.p - p) <= error * p + 1e-38).all():
        raise Wrong("p", allowed=error)
    if (np.diff(at) < 0).any() and (np.diff(logits) > 0).any():
        raise Wrong("ids", reason="a larger logit comes after it")
