from itertools import combinations, product
from typing import Any

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.checks.stages.blocks.pairwise import (
    CLASSES,
    LEFT_OUT,
    Pairwise,
    covering,
    parameters,
)
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.harness.llama_cpp.platforms import make
from sampler_parity.reference.registry import ROWS
from tests.support.cases import ABOUT

ORDER = ["top_k", "temp", "dist"]


def cases(quick: bool = False, **fields: Any) -> list[StagesCase]:
    made = list(Pairwise.model_validate(ABOUT | fields).items(quick))
    assert all(isinstance(case, StagesCase) for case in made)
    return made  # type: ignore[return-value]


@pytest.mark.parametrize(
    "sizes", [(3,), (7, 7), (2, 2, 2), (6, 4, 4, 4), (7,) * 8, (1, 5), (2,) * 9, (7, 1, 3, 2, 6)]
)
def test_any_two_columns_have_every_pair_of_values(sizes: tuple[int, ...]) -> None:
    array = covering(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        pairs = {(row[i], row[j]) for row in array}
        assert pairs == set(product(range(sizes[i]), range(sizes[j])))
    assert {row[0] for row in array} == set(range(sizes[0]))


def test_every_two_parameters_of_a_sampler_meet_in_every_pair_of_classes() -> None:
    settings = [case.chain[0]["xtc"] for case in cases() if case.samplers[0] == "xtc"]
    for one, other in combinations(parameters("xtc"), 2):
        met = {(setting[one], setting[other]) for setting in settings}
        assert met == set(product(CLASSES[one], CLASSES[other]))


@pytest.mark.slow
def test_parameters_of_neighbours_meet_and_a_selecting_stage_comes_last() -> None:
    made = cases(neighbours=True)
    both = [case.chain for case in made if case.samplers[:2] == ["top_k", "temp"]]
    met = {(first["top_k"]["k"], second["temp"]["temp"]) for first, second, _ in both}
    assert met == set(product(CLASSES["k"], CLASSES["temp"]))
    assert not any(ROWS[case.samplers[0]].kind == "select" for case in made)
    assert all(ROWS[case.samplers[-1]].kind == "select" for case in made)


@pytest.mark.slow
def test_quick_takes_the_neighbours_of_a_chain_and_full_has_them_too() -> None:
    quick = cases(quick=True, neighbours=True, quick_order=ORDER)
    assert {tuple(case.samplers[:2]) for case in quick} == {("top_k", "temp"), ("temp", "dist")}
    full = {case.id: case for case in cases(neighbours=True, quick_order=ORDER)}
    assert all(full[case.id] == case for case in quick)


def test_an_unknown_sampler_of_the_order_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown sampler 'top_q'"):
        cases(neighbours=True, quick_order=["top_q", "dist"])


def test_every_parameter_that_random_chains_vary_has_classes() -> None:
    varied = {key for name in of_newest() for key in parameters(name)}
    assert varied == CLASSES.keys()


@pytest.mark.parametrize(("parameter", "value"), LEFT_OUT)
def test_a_value_with_a_reason_is_in_no_case(parameter: str, value: float) -> None:
    assert value not in CLASSES[parameter]


@pytest.mark.slow
def test_the_reference_takes_every_case_of_one_sampler_to_its_end() -> None:
    for case in cases():
        trace, refusal = reference_trace(prepare(case))
        assert (len(trace), refusal) == (case.steps, ""), case.id


@pytest.mark.parametrize("neighbours", [False, True])
def test_a_size_of_more_than_32_bits_is_unsupported_in_webassembly(neighbours: bool) -> None:
    made = cases(quick=True, neighbours=neighbours, quick_order=["min_p", "xtc", "temp_ext"])
    builds = {f"llama.cpp@{name}" for name, how in make.made().items() if how.runner == "node"}
    required = {name: ["unsupported"] for name in builds}
    for case in made:
        sizes = [p["min_keep"] for stage in case.chain for p in stage.values() if "min_keep" in p]
        assert case.requires == (required if max(sizes, default=0) > 2**32 - 1 else {})
    assert {bool(case.requires) for case in made} == {False, True}
