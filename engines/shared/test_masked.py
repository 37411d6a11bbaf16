"""Engines that mask: which candidates are listed, and in which order."""

import numpy as np
import pytest

from sampler_parity.engines.shared.masked import listed

SCORES = np.array([1.0, -np.inf, 3.0, 1.0], np.float32)
P = np.array([0.25, 0.125, 0.5, 0.125], np.float32)


@pytest.mark.parametrize(
    ("order", "whole", "ids", "selected"),
    [
        (None, False, [0, 2, 3], 2),
        (-SCORES, False, [2, 0, 3], 2),
        (-SCORES, True, [0, 1, 2, 3], 3),
    ],
    ids=["what is masked is gone, by id", "equal ones by id", "all are listed, by id"],
)
def test_candidates_of_a_mask_are_listed(
    order: object, whole: bool, ids: list[int], selected: int
) -> None:
    got = listed(SCORES, P, 3, order, whole)
    assert got[0].tolist() == ids
    assert got[1].tolist() == SCORES[ids].tolist()
    assert got[2].tolist() == P[ids].tolist()
    assert got[3:] == (None, selected)


def test_no_token_and_a_masked_one_are_no_place() -> None:
    assert [listed(SCORES, P, token)[4] for token in (-1, 1)] == [-1, -1]
