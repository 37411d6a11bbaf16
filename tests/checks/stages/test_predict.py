"""Whether a case repeats on another platform, and which operation makes it differ."""

from typing import Any

import pytest

from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.stages import predict as predicting
from sampler_parity.harness.checks.stages import targets
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.predict import First, Prediction, predict
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.checks.stages.targets import reference_result
from sampler_parity.reference import platforms
from sampler_parity.reference.platforms import PLATFORMS
from tests.support.cases import ABOUT


def of(chain: list[dict[str, Any]], *rows: list[float], **fields: Any) -> Any:
    return case_from(ABOUT | {"chain": chain, "logits": {"rows": list(rows)}} | fields)


def on(platform: str, case: StagesCase) -> Prediction:
    (answer,) = predict(case, [platform])
    return answer


def first_of(answer: Prediction) -> First:
    """Return where the platforms part."""
    assert answer.first is not None
    return answer.first


TIES = [1.0, 2.0, 2.0, 2.0, 1.0]


def test_a_chain_without_ties_repeats_to_the_bit() -> None:
    chain = [{"top_k": {"k": 3}}, {"dist": {"seed": 1}}]
    answer = on("wasm", of(chain, [1.0, 5.0, 2.0, 4.0, 3.0]))
    assert (answer.bits, answer.tokens, answer.first, answer.unknown) == (True, True, None, ())


def test_ties_are_parted_by_the_sort_and_stay_together() -> None:
    answer = on("wasm", of([{"top_k": {"k": 3}}], TIES))
    assert (answer.bits, answer.order, answer.survivors, answer.tokens) == (
        False, False, True, None,
    )  # fmt: skip
    first = first_of(answer)
    assert (first.place, first.sampler, first.what) == ((0, 0), "top_k", "order")
    assert first.operations == ("the order that libc++ leaves of equals",)
    assert not answer.repeats


PENALTIES = {"penalty_last_n": 8, "penalty_freq": 0.7, "penalty_present": 0.3}
PENALIZED = of([{"penalties": PENALTIES}], [0.0, 0.0, 0.0], history=[1, 1, 1])


@pytest.mark.parametrize("platform", ["linux-arm64-clang", "macos-arm64"])
def test_a_contracted_penalty_shows_both_logits(platform: str) -> None:
    answer = on(platform, PENALIZED)
    first = first_of(answer)
    assert first.what == "logits"
    assert first.baseline.endswith("of token 1")
    assert first.baseline != first.compared
    assert first.operations == ("a * b + c rounded once, by clang",)
    assert answer.unknown == ()  # no logarithm, no sort


def test_gcc_fuses_the_other_product_of_a_penalty_which_is_exact() -> None:
    assert on("linux-arm64-gcc", PENALIZED).bits


def test_a_single_candidate_parts_the_stream_one_step_later() -> None:
    chain = [{"top_k": {"k": 1}}, {"mirostat_v2": {"seed": 3}}]
    alone = of(chain, TIES)
    assert on("windows-x64", alone).tokens
    rows = [[9.0] + [-99.0] * 5, *[[1.0, 1.1, 1.2, 1.3, 1.4, 1.5]] * 6]
    answer = on("windows-x64", of([{"mirostat_v2": {"seed": 3, "tau": 3.0}}], *rows, steps=7))
    assert answer.tokens is False
    assert first_of(answer).step > 0
    assert first_of(answer).operations == ("the draws of msvc",)


def test_what_nobody_knows_of_a_platform_is_reported_where_the_case_depends_on_it() -> None:
    drawn = on("macos-arm64", of([{"dist": {"seed": 1}}], TIES))
    many = [float(i * i % 3) for i in range(200)]
    sorted_ = on("macos-arm64", of([{"top_k": {"k": 150}}], many))
    alike = on("macos-arm64", of([{"top_k": {"k": 1}}], TIES))
    neither = on("macos-arm64", of([{"greedy": {}}], TIES))
    assert [what[:8] for what in drawn.unknown] == ["the last"]
    assert [what[:8] for what in sorted_.unknown] == ["whether "]
    assert neither.unknown == ()
    assert alike.unknown == ()  # older sorts of libc++ leave the same


def test_draws_are_predicted_one_by_one() -> None:
    case = of([{"dist": {"seed": 1}}], TIES, draws=50)
    assert on("wasm", case).tokens
    sorts = on("wasm", of([{"top_k": {"k": 4}}, {"dist": {"seed": 1}}], TIES, draws=50))
    assert sorts.tokens is False
    assert first_of(sorts).what == "token"


def test_a_case_whose_tokens_alone_are_judged_is_parted_at_its_sampler() -> None:
    """The first sampler of the chain is not blamed. The first token that differs is reported."""
    stages: list[Any] = [{"temp": {"temp": 1.0}}, {"top_k": {"k": 4}}, {"dist": {"seed": 1}}]
    answer = on("wasm", of(stages, TIES, *[[0.0, 9.0, 1.0, 2.0, 3.0]] * 2, steps=3, detail="token"))
    assert (first_of(answer).place, first_of(answer).sampler) == ((0, 1), "top_k")
    assert answer.tokens is (answer.token is None)
    turned = on("wasm", of([{"mirostat_v2": {"seed": 1}}], *[TIES] * 8, steps=8, detail="token"))
    assert turned.token is not None


FAMILIES: dict[str, list[dict[str, Any]]] = {
    "no sort": [{"temp": {"temp": 0.5}}, {"dist": {"seed": 1}}],
    "a sort": [{"top_k": {"k": 3}}],
    "a product": [{"top_n_sigma": {"n": 1.0}}],
    "most": [{"temp_ext": {"temp": 0.7, "delta": 0.3}}, {"dist": {"seed": 1}}],
    "a state": [{"top_k": {"k": 4}}, {"mirostat_v2": {"seed": 3, "tau": 3.0}}],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_known_of_a_platform_is_what_it_computes_alone(family: str) -> None:
    ready = prepare(of(FAMILIES[family], *[TIES] * 3, steps=3))
    answers = predicting._Answers(ready)
    for name in PLATFORMS:
        known = answers.on(PLATFORMS[name])
        with platforms.on(name):
            assert targets.same(reference_result(ready), known), name


def test_which_of_equals_survives_is_reported_with_both() -> None:
    answer = on("wasm", of([{"top_k": {"k": 1}}], [2.0] * 40))
    assert answer.survivors == (answer.first is None)
    answer = on("linux-x64-libc++19", of([{"typical_p": {"p": 0.5}}], [2.0] * 20 + [1.0] * 20))
    assert not answer.survivors
    assert first_of(answer).what == "survivors"
