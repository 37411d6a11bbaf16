"""harness/sanitize/near.py: suggestions for a word that names nothing."""

import pytest

from sampler_parity.harness.sanitize.near import did_you_mean


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("topp", "did you mean top_p?"),
        ("greddy", "did you mean greedy?"),
        ("zzz", ""),
        ("", ""),
        ("top_p" * 1_000_000, ""),  # at once
    ],
    ids=["left out", "swapped", "nothing near", "empty", "long"],
)
def test_near_names_are_suggested(word: str, suggestion: str) -> None:
    assert did_you_mean(word, ["top_p", "greedy", "mirostat"]) == suggestion


def test_a_full_name_is_reported_once_in_place_of_its_short_one() -> None:
    assert (
        did_you_mean("parity/topp", ["parity/top_p"], {"top_p": "parity/top_p"})
        == "did you mean parity/top_p?"
    )
