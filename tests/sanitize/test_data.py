"""harness/sanitize/limits.py: whole numbers up to a limit, and no larger one anywhere in text."""

import pytest

from sampler_parity.harness.sanitize.limits import json_of


@pytest.mark.parametrize("largest", [9, 10, 99, 100, 10**18 - 1, (1 << 63) - 1])
def test_the_largest_number_is_read_and_the_next_is_refused(largest: int) -> None:
    for number in (0, 1, largest, -largest):
        assert json_of(f'{{"a": [[{number}]], "9999999999999999999": 1.5}}', largest) == {
            "a": [[number]],
            "9999999999999999999": 1.5,
        }
    for number in (largest + 1, -largest - 1, 10 * largest + 1, 10**400):
        with pytest.raises(ValueError, match="is larger than"):
            json_of(f'{{"a": [[{number}]]}}', largest)


def test_a_number_with_a_point_may_have_any_digits() -> None:
    assert json_of("[1e30, 0.3333333333333333333333]", 99) == [1e30, 1 / 3]
