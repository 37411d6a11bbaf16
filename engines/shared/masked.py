"""Candidates of an engine that masks: removed ones have a score of -inf, and there is no order."""

from typing import Any

import numpy as np

from sampler_parity.harness.protocol.interface import Result


def listed(scores: Any, p: Any, token: int, order: Any = None, whole: bool = False) -> Result:
    """List the candidates of a row. order: the sort key, ascending, equal ones by id; None: by id.
    whole: masked ones are listed, too, by id."""
    scores, p = np.asarray(scores), np.asarray(p)
    ids = np.arange(len(scores)) if whole else np.flatnonzero(scores != -np.inf)
    if order is not None and not whole:
        ids = ids[np.asarray(order)[ids].argsort(kind="stable")]
    places = np.flatnonzero(ids == token)
    return ids, scores[ids], p[ids], None, int(places[0]) if len(places) else -1


class Row:
    """scores: [1, n_vocab]; p: the same. order: the sort key of the candidates, ascending; None: by
    id. whole: banned tokens are listed, too. logits: as given. reported: with the token, once it is
    asked for. library: torch or MLX."""

    def __init__(self, logits: Any, library: Any) -> None:
        self.logits = self.scores = logits
        self.reported: Result | None = None
        self.p = library.zeros_like(logits)
        self.order: Any = None
        self.token = -1
        self.whole = False

    def result(self) -> Result:
        if self.reported is not None:
            return self.reported
        order = None if self.order is None else self.order[0]
        return listed(self.scores[0], self.p[0], self.token, order, self.whole)
