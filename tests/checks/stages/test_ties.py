"""`tied`: another choice among equal logits, if the sampler's sort has the choice; nothing else."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.classify import Difference, classify
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP


def judged(sampler: Sampler, row: list[float], **changes: Any) -> Difference:
    """Return the difference that is found if the reference's result has these changes."""
    before = Candidates.from_logits(row)
    want = before.copy()
    sampler.clone().apply(want)
    values = {
        "ids": want.ids, "logits": want.logits, "p": want.p,
        "sorted": want.sorted, "selected": want.selected,
    }  # fmt: skip
    types = {"ids": np.int32, "logits": np.float32, "p": np.float32}
    given = {k: np.array(v, types[k]) if k in types else v for k, v in changes.items()}
    return classify(want, Got(**(values | given)), before, sampler)  # type: ignore[arg-type]


ROW = [1.0, 2.0, 1.0, 1.0, 0.5]  # the sort keeps 1 and one of 0, 2, 3


def test_top_k_may_keep_any_of_those_that_equal_the_last() -> None:
    left = Candidates.from_logits(ROW)
    TopK(2).apply(left)
    others = [id for id in (0, 2, 3) if id != left.ids[1]]
    assert [judged(TopK(2), ROW, ids=[1, other]).verdict for other in others] == ["tied"] * 2


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": [1, 4]},
        {"ids": [1, 4], "logits": [2.0, 0.5]},
        {"ids": [1, 1]},
        {"ids": [1, 5]},
        {"ids": [0, 2], "logits": [1.0, 1.0]},
        {"ids": [1, 0, 2], "logits": [2.0, 1.0, 1.0], "p": [0, 0, 0]},
        {"ids": [1], "logits": [2.0], "p": [0]},
        {"ids": [2, 1], "logits": [1.0, 2.0]},
        {"ids": [1, 2], "p": [0.0, 0.5]},
        {"ids": [1, 2], "sorted": False},
        {"ids": [1, 2], "selected": 0},
    ],
    ids=[
        "a lower one under another's logit", "a lower one", "one twice", "none of the vocabulary",
        "the largest lost", "one more", "one less", "another order", "another p", "the flag",
        "selected",
    ],
)  # fmt: skip
def test_what_is_wrong_next_to_a_tie_is_diverged(changes: dict[str, Any]) -> None:
    assert judged(TopK(2), ROW, **changes).verdict == "diverged"


def test_equal_logits_have_equal_p_and_each_of_two_that_stay_its_own() -> None:
    row = [0.0, 0.0, 1.0, 0.0]  # p of 1 / (e + 3) three times
    left = Candidates.from_logits(row)
    TopP(0.7).apply(left)
    (out,) = {0, 1, 3} - set(left.ids.tolist())
    chosen = [2, out, int(left.ids[1])]
    assert len(left) == 3
    assert judged(TopP(0.7), row, ids=chosen).verdict == "tied"
    assert judged(TopP(0.7), row, ids=chosen, p=left.p[[0, 2, 1]]).verdict == "tied"
    assert judged(TopP(0.7), row, ids=chosen, p=left.p[[1, 0, 2]]).verdict == "diverged"


def test_zero_and_minus_zero_are_equal_and_each_keeps_its_sign() -> None:
    row = [0.0, -0.0, 1.0]
    left = Candidates.from_logits(row)
    TopK(2).apply(left)
    out = 1 - int(left.ids[1])
    its_own = [1.0, row[out]]
    assert judged(TopK(2), row, ids=[2, out], logits=its_own).verdict == "tied"
    assert judged(TopK(2), row, ids=[2, out], logits=left.logits).verdict == "close"


def test_what_does_not_sort_has_no_choice() -> None:
    """temp <= 0 and greedy take the first of the largest, min_p keeps all equal ones or none."""
    row = [1.0, 1.0, 0.0]
    inf = -np.inf
    assert judged(Temp(0.0), row, logits=[inf, 1.0, inf]).verdict == "diverged"
    assert judged(Greedy(), row, selected=1).verdict == "diverged"
    assert judged(MinP(0.5), row, ids=[0], logits=[1.0], p=[0.0]).verdict == "diverged"
    assert judged(Temp(1.0), row, ids=[0, 1, 0]).verdict == "diverged"


def test_typical_p_may_swap_what_is_equally_far_from_the_entropy() -> None:
    row = [1.0, 0.0, 0.0, 0.0, -9.0]  # p 0.48, 0.17 three times, nearly 0; the entropy is 1.26
    left = Candidates.from_logits(row)
    TypicalP(0.1).apply(left)
    (last,) = left.ids
    for other in {1, 2, 3} - {last}:
        assert judged(TypicalP(0.1), row, ids=[other]).verdict == "tied"
    assert judged(TypicalP(0.1), row, ids=[0]).verdict == "diverged"
    assert judged(TypicalP(0.1), row, ids=[4]).verdict == "diverged"


def test_rounding_next_to_a_tie_is_close_and_passes_where_both_do() -> None:
    row = [0.0, 0.0, 1.0, 0.0]
    left = Candidates.from_logits(row)
    TopP(0.7).apply(left)
    (out,) = {0, 1, 3} - set(left.ids.tolist())
    near = left.p + np.spacing(left.p)
    found = judged(TopP(0.7), row, ids=[2, int(left.ids[1]), out], p=near)
    assert (found.verdict, found.ties) == ("close", True)
    result = BackendResult(verdict=found.verdict, ties=found.ties)
    assert not result.among(["identical", "close"])
    assert not result.among(["identical", "tied"])
    assert result.among(["identical", "tied", "close"])
