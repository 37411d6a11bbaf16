"""reference/random.py: draws by inverse transform from weights."""

import numpy as np

from sampler_parity.reference import Candidates
from sampler_parity.reference.random import Walk
from sampler_parity.reference.samplers.dist import Dist


def test_walk_draws_what_dist_draws() -> None:
    logits = np.random.default_rng(13).normal(0, 2, 100).astype(np.float32)
    weights = np.exp(logits.astype(np.float64) - logits.max())
    dist = Dist(5)
    want = []
    for _ in range(50):
        cand = Candidates.from_logits(logits)
        dist.apply(cand)
        want.append(cand.token)
    twin = Dist(5)
    u = np.array([twin.rng.uniform_double() for _ in range(50)])
    assert Walk(np.arange(100, dtype=np.int32), np.cumsum(weights)).tokens(u).tolist() == want
