"""xtc: with probability p, drop all top choices but the least likely.

The seed is mt19937's default, 5489, whose first uniform floats are .814724, .135477, .905792.
"""

from sampler_parity.reference import Candidates
from tests.support.applied import SEED, chain_of, logs


def test_xtc_draws_one_number_at_every_step() -> None:
    """.814724 no, .135477 yes, .905792 no, .835009 no, .126987 yes."""
    chain = chain_of(("xtc", {"p": 0.5, "t": 0.3, "seed": SEED}))
    sizes = []
    for _ in range(5):
        cand = Candidates.from_logits(logs(0.5, 0.4, 0.1))
        chain.apply(cand)
        sizes.append(len(cand))
    assert sizes == [3, 2, 3, 3, 2]


def test_xtc_draws_nothing_for_fewer_than_two_candidates() -> None:
    chain = chain_of(("xtc", {"p": 0.82, "t": 0.3, "seed": SEED}))
    for logits in ([], [1.0]):
        chain.apply(Candidates.from_logits(logits))
    cand = Candidates.from_logits(logs(0.5, 0.4, 0.1))
    chain.apply(cand)
    assert len(cand) == 2  # by .814724; by .905792 it would be 3
