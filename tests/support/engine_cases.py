"""Nightly cases of each third-party engine, in its environment."""

from pathlib import Path

import pytest

from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.registry import start
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.strict import like
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reports.pages.parity.parity_implementations import matrix
from tests.support.report_bundles import bundle_of, run_info


def as_required_and_explained(engine: str, suite: str, folder: Path) -> None:
    """Assert that each quick case has its required verdict, or what the engine's file accepts, and
    that each difference is explained.

    Skip if the engine's environment is not installed.
    """
    accept = ENGINES[engine].accept
    if why := environments.missing(ENGINES[engine].environment):
        pytest.skip(f"unavailable: {why}")
    cases = [case for path in find_suites([suite]) for case in expand(path, "quick")]
    backend = start(engine)
    try:
        with accepting(accept):
            results = [like(execute(case, [backend]), accept=accept) for case in cases]
    finally:
        backend.close()
    assert [(r.id, r.backends[engine].verdict) for r in results if not r.ok] == []
    table = matrix([bundle_of(folder / "b", run_info(engine), results)])
    assert table is None or table.unexplained == 0  # None: nothing of it stands in the matrix
