"""Engines on Node.js: every case has its required verdict, and every difference its line."""

from pathlib import Path

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.registry import inspect, start
from sampler_parity.harness.parity.execute import execute
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reports.pages.parity.matrix import matrix
from tests.support.report_bundles import bundle_of, run_info

JAVASCRIPT = ("transformers_js", "lloyal")


def the_engine(name: str) -> None:
    """Skips the test with the command that adds the engine."""
    if why := environments.missing(ENGINES[name].environment):
        pytest.skip(f"unavailable: {why}")


@pytest.mark.nightly
@pytest.mark.parametrize("name", JAVASCRIPT)
def test_every_case_has_its_required_verdict_and_every_difference_its_line(
    name: str, tmp_path: Path
) -> None:
    the_engine(name)
    cases = [c for path in find_suites(list(ENGINES[name].suites)) for c in expand(path, "quick")]
    backend = start(name)
    try:
        results = [execute(case, [backend]) for case in cases]
    finally:
        backend.close()
    assert [(r.id, r.backends[name].verdict) for r in results if not r.ok] == []
    table = matrix([bundle_of(tmp_path / "b", run_info(name), results)])
    assert table is not None
    assert table.unexplained == 0


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_without_its_environment_an_engine_says_how_to_add_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert inspect(name).unavailable == f"sampler-parity engines add {ENGINES[name].environment}"
