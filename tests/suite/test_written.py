"""A case as it is written in a suite file."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.suite.model import case_block

KEYS = st.from_regex(r"[a-z_]+", fullmatch=True)
VALUES = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False)
    | st.booleans(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), inner)
    ),
)


@pytest.mark.slow
@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert tomllib.loads(case_block({"of": value})) == {"case": [{"of": value}]}


def test_a_breaker_that_is_none_is_written_as_the_empty_one() -> None:
    assert tomllib.loads(case_block({"seq_breakers": [None, "a"]}))["case"] == [
        {"seq_breakers": ["", "a"]}
    ]
