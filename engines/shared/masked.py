"""Candidates of an engine that masks: what it removes has a score of -inf, and nothing has an
order."""

from typing import Any

import numpy as np

from sampler_parity.harness.protocol.interface import Result


def listed(scores: Any, p: Any, token: int, order: Any = None, whole: bool = False) -> Result:
    """The candidates of a row. order: what they are listed by, ascending, equal ones by id; None:
    by id. whole: those that are masked are listed, too, by id."""
    scores, p = np.asarray(scores), np.asarray(p)
    ids = np.arange(len(scores)) if whole else np.flatnonzero(scores != -np.inf)
    if order is not None and not whole:
        ids = ids[np.asarray(order)[ids].argsort(kind="stable")]
    places = np.flatnonzero(ids == token)
    return ids, scores[ids], p[ids], None, int(places[0]) if len(places) else -1
