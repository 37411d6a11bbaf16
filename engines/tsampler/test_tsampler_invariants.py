"""The invariants that tsampler's documentation states, on the reference and on the TypeScript."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.engines.tsampler.model.filters import (
    candidates_from_logits,
    sample_from_set,
)
from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES, GeneratedLogits
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.chain import Stage
from tests.support.case_tables import cases_of
from tests.support.tsampler_node import API, run_js

CASES = cases_of(__file__)

FILTERS: list[dict[str, dict[str, Any]]] = CASES["filters"]


@pytest.fixture(scope="module")
def tsampler() -> Iterator[BackendProcess]:
    assert API.is_file(), "the TypeScript is not built: run `make tsampler`"
    backend = registry.start("tsampler")
    yield backend
    backend.close()


def case(chain: list[dict[str, dict[str, Any]]], **fields: Any) -> StagesCase:
    logits = fields.pop("logits", GeneratedLogits(family="zipf", n=300, seed=1))
    return StagesCase(
        id="t/t", description="a test", why="a test", chain=chain, logits=logits, **fields
    )


def verdict(backend: BackendProcess, tried: StagesCase) -> tuple[str, str]:
    result = execute(tried, [backend]).backends[backend.name]
    return result.verdict, result.detail


def trace(chain: list[dict[str, dict[str, Any]]], row: np.ndarray) -> list[Stage]:
    return list(build_chain(chain).trace(Candidates.from_logits(row)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.permutations(FILTERS),
    st.sampled_from(sorted(FAMILIES)),
    st.integers(1, 300),
    st.integers(0, 9),
    st.integers(0, 60),
)
def test_no_filter_adds_a_candidate(
    filters: list[Any], family: str, n: int, seed: int, k: int
) -> None:
    row = FAMILIES[family](np.random.default_rng(seed), n).astype(np.float32)
    stages = trace([{"tsampler_top_k": {"k": k}}, *filters], row)
    sets = [set(stage.candidates.ids.tolist()) for stage in stages]
    assert all(after <= before for before, after in pairwise(sets))
    assert all(sets)
    assert all(len(s) == len(stage.candidates) for s, stage in zip(sets, stages, strict=True))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_order_of_the_filters_is_the_same_in_typescript(
    tsampler: BackendProcess, data: st.DataObject
) -> None:
    chain = [
        {"tsampler_top_k": {"k": data.draw(st.integers(0, 60))}},
        *data.draw(st.permutations(FILTERS)),
        {"tsampler_sample": {"seed": data.draw(st.integers(-(2**40), 2**40))}},
    ]
    family = data.draw(st.sampled_from(sorted(FAMILIES)))
    logits = GeneratedLogits(family=family, n=data.draw(st.integers(1, 300)), seed=3)  # type: ignore[arg-type]
    assert verdict(tsampler, case(chain, logits=logits, steps=3)) == ("identical", "")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fast", "parity"])
@pytest.mark.parametrize("top_k", [0, 40])
def test_the_whole_is_its_stages_in_the_documented_order(mode: str, top_k: int) -> None:
    parameters: dict[str, Any] = {"typical_p": 0.95, "top_n_sigma": 3.0, "temp": 1.1}
    whole = build_chain([{"tsampler": {"seed": 4, "mode": mode, "top_k": top_k, **parameters}}])
    pool = top_k if top_k else 0 if mode == "parity" else 512
    penalties, *filters = CASES["parts"]
    parts = build_chain([penalties, {"tsampler_top_k": {"k": pool}}, *filters])
    rng, tokens = np.random.default_rng(0), []
    for _ in range(100):
        row = FAMILIES["zipf"](rng, 2000).astype(np.float32)
        a, b = Candidates.from_logits(row), Candidates.from_logits(row)
        whole.apply(a)
        parts.apply(b)
        tokens.append(a.token)
        assert a.token == b.token
        assert a.token is not None
        whole.accept(a.token)
        parts.accept(a.token)
    assert len(set(tokens)) > 50, "a row that always gives its likeliest token shows nothing"


@pytest.mark.slow
def test_working_logits_and_the_accessor_give_the_same_tokens_and_change_no_logit() -> None:
    tokens = run_js(
        CASES["strategy"],
        [np.random.default_rng(seed).normal(size=300).astype(float).tolist() for seed in range(4)],
    )
    for accessor, working in tokens:
        assert accessor == working
        assert len(set(accessor)) > 2


def test_draws_follow_the_renormalized_mass() -> None:
    """0.4 and 0.3 are left: with u * 0.7 the first comes up in 4/7 of the draws."""
    results = run_js(CASES["draws"], np.log([0.1, 0.2, 0.3, 0.4]).tolist())
    assert sum(results[0]) == pytest.approx(0.7, abs=1e-6)
    assert set(results[1]) == {"2", "3"}
    # 40,000 expected, standard deviation 131: six of them allow one false alarm in 10**9
    assert abs(results[1]["3"] - 40000) < 6 * 131


@pytest.mark.slow
@pytest.mark.parametrize("u", [0.0, -0.0, 2.0**-53, 2.0**-32, 2.0**-24, 0.5, 1 - 2.0**-53])
def test_an_injected_uniform_never_draws_what_has_no_probability(u: float) -> None:
    row = [-np.inf, 0.0, -np.inf, -200.0, 1.0, -np.inf]
    results = run_js(CASES["injected"], [row, u])
    assert results in (1, 4)
    cand = Candidates.from_logits(np.array(row, np.float32))
    chain = build_chain([{"tsampler_top_k": {"k": 0}}])
    chain.apply(cand)
    assert int(cand.ids[sample_from_set(cand, u)]) == results


def test_a_vocabulary_that_is_all_banned_is_refused_in_both(tsampler: BackendProcess) -> None:
    row = np.full(4, -np.inf, np.float32)
    with pytest.raises(UndefinedInputError, match="no candidate has a probability"):
        build_chain([{"tsampler": {"seed": 1}}]).apply(Candidates.from_logits(row))
    results = run_js(CASES["banned"])
    assert results == "no candidate has a probability"


def test_nan_counts_as_banned_in_both(tsampler: BackendProcess) -> None:
    row = np.array([np.nan, 1.0, 2.0, np.nan], np.float32)
    cand = Candidates.from_logits(row)
    build_chain([{"tsampler_top_k": {"k": 3}}]).apply(cand)
    assert cand.ids.tolist() == [2, 1, 0]
    results = run_js(CASES["nan"], row.tolist())
    assert results == [[2, 1, 0], 2]


@pytest.mark.slow
@pytest.mark.parametrize(("chain", "message"), CASES["unsupported"])
def test_adapter_says_what_the_api_lacks(
    tsampler: BackendProcess, chain: list[dict[str, dict[str, Any]]], message: str
) -> None:
    got, detail = verdict(tsampler, case(chain))
    assert got == "unsupported"
    assert message in detail


def test_a_sampler_that_the_api_does_not_have_is_skipped(tsampler: BackendProcess) -> None:
    assert verdict(tsampler, case([{"dist": {"seed": 1}}])) == ("skipped", "no sampler dist")


def test_the_published_package_says_that_it_is_not_installed() -> None:
    if ((engines_folder() / "tsampler") / "node_modules" / "@lloyal-labs").is_dir():
        pytest.skip("it is")
    backend = registry.start("tsampler/published")
    try:
        with pytest.raises(BackendFailure, match="@lloyal-labs/tsampler is not installed"):
            backend.hello()
    finally:
        backend.close()


@pytest.mark.slow
def test_draws_with_injected_uniforms_are_the_references(tsampler: BackendProcess) -> None:
    row = FAMILIES["zipf"](np.random.default_rng(0), 500).astype(np.float32)
    uniforms = np.random.default_rng(1).random(400)
    tsampler.scratch.ensure(1 << 16)
    at = tsampler.scratch.write(0, row)
    tsampler.scratch.write(at, uniforms)
    chain = complete([{"tsampler_top_k": {"k": 0}}, {"tsampler_sample": {"seed": 1}}], 500)
    request = p.DrawsRequest(
        chain=chain, n_vocab=500, rows=p.Rows(at=0, count=1, n=500), n=400,
        out=at + 3200, filters_once=True, uniforms=at,
    )  # fmt: skip
    tsampler.ask(request, p.DrawsReply)
    cand = candidates_from_logits(row)
    expected = [int(cand.ids[sample_from_set(cand, u)]) for u in uniforms]
    assert tsampler.scratch.view(at + 3200, 400, np.int32).tolist() == expected
    assert len(set(expected)) > 50


@pytest.mark.slow
def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads(((engines_folder() / "tsampler") / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
