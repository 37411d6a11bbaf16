"""top_even: the ids decide, not the positions."""

from tests.support.applied import applied


def test_top_even_goes_by_the_id() -> None:
    assert applied("top_even", {}, [5.0, 7.0, 6.0, 8.0, 1.0]).ids.tolist() == [0, 2, 4]
