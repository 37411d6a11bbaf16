"""Faults planted in one sampler's arithmetic of a platform, compared with results of the real
build.
"""

import importlib
from types import SimpleNamespace

import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.reference import floats
from sampler_parity.reference.platforms import DEFAULT, on
from tests.support.platform_cases import cases, outcome, recorded

REAL = "linux-arm64-clang"


def apart(names: list[str]) -> set[str]:
    """Return the cases on which the reference differs from the real build."""
    results = recorded()["results"]
    wanted, worker = results[DEFAULT] | results[REAL], Worker()
    with on(REAL):
        return {name for name in names if outcome(worker, cases()[name]) != wanted[name]}


def uncontracted() -> SimpleNamespace:
    """`floats` as on x86-64, where a product is rounded before it is added."""

    def total_of_products(x: floats.FloatArray, y: floats.FloatArray) -> object:
        return floats.total(x * y)

    rounded_twice = {
        "multiply_add": lambda a, b, c: a * b + c,
        "add_products": lambda a, b, c, d: a * b + c * d,
        "total_of_products": total_of_products,
    }
    return SimpleNamespace(**(vars(floats) | rounded_twice))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["penalties", "temp_ext", "adaptive_p"])
def test_a_contraction_left_out_in_one_sampler_is_caught_by_that_sampler_alone(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"penalties", "temp_ext", "adaptive_p"} - {sampler}
    names = [name for name in cases() if name.partition("/")[0] in {sampler, *others}][::2]
    module = importlib.import_module(f"sampler_parity.reference.samplers.{sampler}")
    assert apart(names) == set()
    monkeypatch.setattr(module, "floats", uncontracted())
    assert {name.partition("/")[0] for name in apart(names)} == {sampler}
