"""reference/platforms compared with real builds: arm64, libc++, WebAssembly, and this machine.

tests/support/platform_results.json has their results, studies/platforms.py recorded them.
"""

import importlib
from collections.abc import Iterable
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.reference import floats
from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, Platform, on
from tests.support.platform_cases import cases, names_of, outcome, recorded

REAL = tuple(recorded()["results"])
_SAID = ("name", "words", "unknown", "perhaps")
DECIDE = [part.name for part in fields(Platform) if part.name not in _SAID]


def apart(platform: Platform, names: Iterable[str], real: str) -> set[str]:
    """Return the cases on which the reference differs from the real build."""
    worker, results = Worker(), recorded()["results"]
    wanted: dict[str, Any] = results[DEFAULT] | results[real]
    with on(platform):
        return {name for name in names if outcome(worker, cases()[name]) != wanted[name]}


@pytest.mark.slow
@pytest.mark.parametrize("real", REAL)
def test_the_reference_of_a_platform_gives_what_its_real_build_gave(real: str) -> None:
    assert apart(PLATFORMS[real], names_of(real)[::9], real) == set()


@pytest.mark.nightly
@pytest.mark.parametrize("real", REAL)
def test_the_reference_gives_every_result_of_a_real_build(real: str) -> None:
    assert apart(PLATFORMS[real], names_of(real), real) == set()


# Each entry of a platform's table that differs from the default, and a case that only it explains.
SWITCHES = {
    ("linux-arm64-clang", "contraction"): "penalties/V5-4",
    ("linux-arm64-gcc", "contraction"): "temp_ext/normal-V17-1",
    ("linux-x64-v3-gcc", "contraction"): "temp_ext/normal-V17-1",
    ("windows-x64", "sorting"): "typical_p/ties-V40-p0.9",
    ("windows-x64", "random"): "mirostat/normal-V5-0",
    ("linux-arm64-clang", "conversion"): "top_k/huge-0-k140",
    ("linux-arm64-gcc", "conversion"): "top_k/huge-0-k140",
    ("linux-x64-libc++14", "sorting"): "typical_p/ties-V40-p0.9",
    ("linux-x64-libc++14", "random"): "mirostat/normal-V5-0",
    ("linux-x64-libc++19", "sorting"): "typical_p/ties-V40-p0.9",
    ("linux-x64-libc++19", "random"): "mirostat/normal-V5-0",
    ("wasm", "sorting"): "typical_p/ties-V40-p0.9",
    ("wasm", "random"): "mirostat/normal-V5-0",
    ("portable", "sorting"): "typical_p/ties-V40-p0.9",
    ("portable", "random"): "mirostat/normal-V5-0",
    ("portable", "conversion"): "mirostat/ties-V40-18",
}


@pytest.mark.parametrize(("real", "switch"), SWITCHES)
def test_a_switch_left_out_of_a_platforms_table_is_caught(real: str, switch: str) -> None:
    case = SWITCHES[real, switch]
    without = replace(PLATFORMS[real], **{switch: getattr(PLATFORMS[DEFAULT], switch)})
    assert apart(without, (case,), real) == {case}
    assert apart(PLATFORMS[real], (case,), real) == set()


def test_every_switch_of_a_recorded_platform_has_a_case_that_needs_it() -> None:
    """But the C libraries: on these cases musl's and Wine's give glibc's bits."""
    default = PLATFORMS[DEFAULT]
    switched = {
        (real, name)
        for real in REAL
        for name in DECIDE
        if getattr(PLATFORMS[real], name) != getattr(default, name)
    }
    assert switched - SWITCHES.keys() == {
        (real, "libm") for real in ("wasm", "linux-x64-musl", "windows-x64")
    }


@pytest.mark.parametrize(
    ("real", "other"), [("linux-arm64-clang", "gcc"), ("linux-arm64-gcc", "clang")]
)
def test_the_other_compilers_contraction_is_caught(real: str, other: Any) -> None:
    wrong = replace(PLATFORMS[real], contraction=other)
    assert apart(wrong, ("penalties/V5-4",), real) == {"penalties/V5-4"}


def test_the_sort_of_an_older_libcxx_is_caught() -> None:
    case = "typical_p/ties-V70-p0.9"
    wrong = replace(PLATFORMS["linux-x64-libc++19"], sorting="libc++")
    assert apart(wrong, (case,), "linux-x64-libc++19") == {case}


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


CONTRACTED = ("penalties", "temp_ext", "adaptive_p")


@pytest.mark.slow
@pytest.mark.parametrize("sampler", CONTRACTED)
def test_a_contraction_left_out_in_one_sampler_is_caught_by_that_sampler_alone(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = "linux-arm64-clang"
    names = [name for name in cases() if name.partition("/")[0] in CONTRACTED][::2]
    module = importlib.import_module(f"sampler_parity.reference.samplers.{sampler}")
    assert apart(PLATFORMS[real], names, real) == set()
    monkeypatch.setattr(module, "floats", uncontracted())
    assert {name.partition("/")[0] for name in apart(PLATFORMS[real], names, real)} == {sampler}
