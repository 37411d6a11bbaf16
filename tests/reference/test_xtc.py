"""xtc: with probability p, drop all top choices but the least likely.

The seed is mt19937's default, 5489, whose first uniform floats are .814724, .135477, .905792.
"""

from sampler_parity.reference.samplers.xtc import Xtc
from tests.support.applied import SEED, logs, stepped


def test_xtc_draws_one_number_at_every_step() -> None:
    """.814724 no, .135477 yes, .905792 no, .835009 no, .126987 yes."""
    xtc = Xtc(0.5, 0.3, seed=SEED)
    assert [len(stepped(xtc, logs(0.5, 0.4, 0.1))) for _ in range(5)] == [3, 2, 3, 3, 2]


def test_xtc_draws_nothing_for_fewer_than_two_candidates() -> None:
    """The next steps take .814724 and .135477. A lost number would leave .135477 and .905792."""
    for logits in ([], [1.0]):
        xtc = Xtc(0.5, 0.3, seed=SEED)
        stepped(xtc, logits)
        assert [len(stepped(xtc, logs(0.5, 0.4, 0.1))) for _ in range(2)] == [3, 2]
