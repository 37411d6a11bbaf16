"""typical_p: the candidates whose surprise is closest to the entropy."""

from tests.support.applied import applied, logs


def test_typical_p_takes_the_absolute_distance_ascending() -> None:
    """p = .6 .2 .1 .06 .04: H = .306 + .322 + .230 + .169 + .129 = 1.156; surprises .511 1.609
    2.303 2.813 3.219; distances .646 .453 1.146 1.657 2.063: order 1 0 2 3 4, sums .2 .8 > .3.
    The signed distance gives {0}, the descending order {0, 2, 3, 4}.
    """
    cand = applied("typical_p", {"p": 0.3}, logs(0.6, 0.2, 0.1, 0.06, 0.04))
    assert cand.ids.tolist() == [1, 0]
    assert not cand.sorted
