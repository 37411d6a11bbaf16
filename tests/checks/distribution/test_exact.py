"""The exact distribution. Applying the filters once gives the draws of applying them every time."""

from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.distribution import exact
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.statistics import tv
from sampler_parity.reference import Candidates
from sampler_parity.reference.random import Mt19937, uniforms
from tests.support.cases import stages

FILTERS: list[dict[str, Any]] = [
    {"penalties": {"penalty_last_n": 8, "penalty_repeat": 1.3}},
    {"top_n_sigma": {"n": 3.0}},
    {"top_k": {"k": 20}},
    {"typical_p": {"p": 0.95}},
    {"top_p": {"p": 0.9}},
    {"min_p": {"p": 0.05}},
    {"xtc": {"p": 1.0, "t": 0.2, "seed": 3}},
    {"temp_ext": {"temp": 0.8}},
]


def ready(chain: list[dict[str, Any]], n: int = 64, history: tuple[int, ...] = ()) -> Prepared:
    logits = {"family": "normal", "n": n, "seed": 1}
    return prepare(stages(chain, logits, history=list(history)))


def likely(count: int) -> tuple[int, ...]:
    """The likeliest tokens: penalties on them change what is drawn."""
    return tuple(np.argsort(-ready([{"dist": {"seed": 1}}]).rows[0])[:count].tolist())


def one_by_one(prepared: Prepared, n: int) -> list[int]:
    """Every stage applied at every draw."""
    chain, tokens = prepared.build(), []
    for _ in range(n):
        cand = Candidates.from_logits(prepared.rows[0])
        chain.apply(cand)
        assert cand.token is not None
        tokens.append(cand.token)
    return tokens


@pytest.mark.slow
@pytest.mark.parametrize("count", range(len(FILTERS) + 1))
def test_filters_applied_once_give_the_draws_of_filters_applied_every_time(count: int) -> None:
    prepared = ready([*FILTERS[:count], {"dist": {"seed": 7}}], history=likely(3))
    assert exact.filters_once(prepared.chain)
    got = exact.walk(prepared).tokens(uniforms(Mt19937(7), 200))
    assert got.tolist() == one_by_one(prepared, 200)


def test_a_stage_that_acts_by_chance_is_not_applied_once() -> None:
    chance = {"xtc": {"p": 0.5, "t": 0.2, "seed": 3}}
    assert not exact.filters_once(ready([chance, {"dist": {"seed": 1}}]).chain)
    with pytest.raises(Unsupported, match="final dist"):
        exact.walk(ready([chance, {"dist": {"seed": 1}}]))


def test_law_is_the_softmax_of_what_survives() -> None:
    prepared = ready([{"top_k": {"k": 3}}, {"dist": {"seed": 1}}])
    logits = prepared.rows[0].astype(np.float64)
    survivors = np.argsort(-logits)[:3]
    want = np.zeros(64)
    want[survivors] = np.exp(logits[survivors]) / np.exp(logits[survivors]).sum()
    assert exact.exact(prepared) == pytest.approx(want, abs=1e-7)


def test_law_of_xtc_is_a_mixture_of_both_ways() -> None:
    def of(p: float) -> Any:
        return exact.exact(ready([{"xtc": {"p": p, "t": 0.05, "seed": 3}}, {"dist": {"seed": 1}}]))

    assert of(0.25) == pytest.approx(0.25 * of(1.0) + 0.75 * of(0.0))
    assert (of(0.0) != of(1.0)).any()


@pytest.mark.slow
def test_law_of_adaptive_p_is_what_it_draws_from() -> None:
    prepared = ready([{"adaptive_p": {"target": 0.3, "decay": 0.9, "seed": 2}}], n=8)
    counts = np.bincount(one_by_one(prepared, 3000), minlength=8)
    assert tv.p_value(counts, exact.exact(prepared)) > 1e-3
    assert tv.p_value(counts, np.full(8, 1 / 8)) < 1e-9


@pytest.mark.parametrize(
    "last", [{"mirostat_v2": {"seed": 1, "tau": 5.0, "eta": 0.1}}, {"greedy": {}}]
)
def test_a_chain_without_a_fixed_law_is_refused(last: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="has no fixed distribution"):
        exact.exact(ready([last]))
