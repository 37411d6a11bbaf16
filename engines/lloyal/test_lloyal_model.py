"""lloyal: the chain of a branch by hand."""

import numpy as np
import pytest

from sampler_parity.engines.lloyal.model import Lloyal
from sampler_parity.reference import Candidates
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)


def tokens(sampler: Lloyal, logits: list[float], n: int = 1) -> list[int]:
    cand = Candidates.from_logits(np.array(logits, np.float32))
    selected = []
    for _ in range(n):
        sampler.apply(cand)
        selected.append(cand.selected)
    assert len(cand) == len(logits)  # the candidates are left as they are
    return selected


@pytest.mark.parametrize(("parameters", "names"), CASES["chains"])
def test_what_is_off_is_not_in_the_chain(parameters: dict[str, float], names: list[str]) -> None:
    assert [s.name.split("_b")[0] for s in Lloyal(1, **parameters).samplers] == names


def test_a_fork_forgets_what_the_penalties_have_counted() -> None:
    parent = Lloyal(1, temperature=0.0, penalty_present=2.0)
    parent.accept(0)
    fork = parent.clone()
    assert tokens(parent, [3.0, 2.0]) == [1]
    assert tokens(fork, [3.0, 2.0]) == [0]


def test_a_single_candidate_uses_up_no_random_number() -> None:
    one, two = Lloyal(5, top_p=1.0), Lloyal(5, top_p=1.0)
    tokens(one, [0.0, -100.0], 8)  # min-p leaves one
    assert tokens(one, [0.0, 0.0], 16) == tokens(two, [0.0, 0.0], 16)
