"""studies/penalties.py measures figures of docs/background/penalties.md and docs/findings.md."""

import pytest

from studies import penalties


@pytest.mark.slow
def test_llama_cpp_python_penalizes_no_token_of_the_prompt() -> None:
    seen = penalties.first_token()
    assert seen.in_prompt
    assert seen.penalized == seen.plain != seen.counted


@pytest.mark.parametrize(("penalty", "share"), [(1.1, 0.17), (1.17, 0.32), (2.0, 0.0)])
def test_a_product_with_the_reciprocal_has_another_last_digit(penalty: float, share: float) -> None:
    assert penalties.other_last_digit(penalty) == pytest.approx(share, abs=0.005)
