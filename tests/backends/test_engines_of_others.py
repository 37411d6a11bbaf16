"""Engines with their own packages: one line without the packages, all of their suites with them."""

from pathlib import Path

import pytest

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.registry import inspect
from tests.support.engine_cases import as_required_and_explained

NAMES = [row.name for row in ENGINES.values() if row.environment]
# xllamacpp is asked all of parity by `make drift`
SUITES = [(name, of) for name in NAMES for of in ENGINES[name].suites if of != "parity"]


def test_engines_with_an_environment_are_found() -> None:
    assert {"lloyal", "vllm", "xllamacpp"} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_without_its_environment_an_engine_says_how_to_add_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert inspect(name).unavailable == f"sampler-parity engines add {ENGINES[name].environment}"


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "suite"), SUITES)
def test_every_case_has_its_required_verdict_and_every_difference_its_line(
    name: str, suite: str, tmp_path: Path
) -> None:
    as_required_and_explained(name, suite, tmp_path)
