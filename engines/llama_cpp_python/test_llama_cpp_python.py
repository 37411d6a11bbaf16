"""backend "llama_cpp_python": which arguments a chain becomes, and what Llama makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.llama_cpp_python.worker import Worker, arguments_of
from sampler_parity.harness.backends import environments
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.registry import start
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reports.pages.parity.parity_implementations import matrix
from tests.support.case_tables import cases_of
from tests.support.report_bundles import bundle_of, run_info

CASES = cases_of(__file__)

OFF = {"temperature": 1.0, "top_k": 0, "typical_p": 1.0, "top_p": 1.0, "min_p": 0.0, "seed": 0}
DIST: dict[str, dict[str, Any]] = {"dist": {"seed": 7}}


def test_what_a_chain_does_not_name_is_off() -> None:
    chain = [{"top_p": {"p": 0.5, "min_keep": 1}}, {"temp": {"temp": 2.0}}, DIST]
    assert arguments_of(chain) == OFF | {"top_p": 0.5, "temperature": 2.0, "seed": 7}
    assert arguments_of([{"greedy": {}}]) == OFF | {"temperature": 0.0}


@pytest.mark.parametrize(("chain", "message"), CASES["unsupported"])
def test_a_chain_that_llama_does_not_make_is_unsupported(chain: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        arguments_of(chain)


def test_a_negative_temperature_passes_over_the_filters() -> None:
    pytest.importorskip("llama_cpp")
    worker = Worker()
    arguments = {"seed": 1, "temperature": -1.0, "top_k": 1}
    instance = worker.build([{"llama_cpp_python": arguments}], 4, None)
    row = worker.candidates(np.zeros(4, np.float32))
    drawn = set()
    for _ in range(40):
        instance.apply(None, row)
        drawn.add(row.token)
    assert drawn == {0, 1, 2, 3}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["llama_cpp_python", "xllamacpp"])
def test_every_case_is_as_required_and_every_difference_has_its_line(
    name: str, tmp_path: Path
) -> None:
    row = ENGINES[name]
    if row.environment and (why := environments.missing(row.environment)):
        pytest.skip(f"unavailable: {why}")
    suites = [suite for suite in row.suites if suite != "parity"] or ["parity/top_k"]
    cases = [case for path in find_suites(suites) for case in expand(path, "quick")]
    backend = start(name)
    try:
        results = [execute(case, [backend]) for case in cases]
    finally:
        backend.close()
    differing = [(r.id, r.backends[name].verdict) for r in results if not r.ok]
    assert differing == []
    page = matrix([bundle_of(tmp_path / "b", run_info(name), results)])
    assert page is not None
    assert page.unexplained == 0
