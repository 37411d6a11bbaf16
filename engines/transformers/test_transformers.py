"""backend transformers: the mapping of parameters, and, with the extra, the processors' results."""

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.transformers.processors import (
    OWN,
    SAMPLERS,
    own_processor,
    processor_of,
)
from sampler_parity.engines.transformers.worker import Worker
from sampler_parity.harness.backends.registry import inspect, start
from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.engines.samplers import ALL_ROWS
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.logits import Literals
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reports.pages.parity.parity_implementations import matrix
from tests.support.case_tables import cases_of
from tests.support.report_bundles import bundle_of, run_info

TABLES = cases_of(__file__)

INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
extra = pytest.mark.skipif(not INSTALLED, reason="the extra `transformers` is not installed")
CASES = expand(find_suites(["transformers"])[0], "full")


@pytest.fixture(scope="module")
def backend() -> Iterator[BackendProcess]:
    process = start("transformers")
    yield process
    process.close()


@pytest.mark.parametrize(("name", "parameters", "wanted"), TABLES["processors"])
def test_parameters_become_those_of_a_processor(
    name: str, parameters: dict[str, Any], wanted: list[Any]
) -> None:
    assert processor_of(name, parameters) == (tuple(wanted) or None)


def penalties(last_n: int = 64, repeat: float = 1.1, freq: float = 0, present: float = 0) -> Any:
    parameters = {"penalty_last_n": last_n, "penalty_repeat": repeat}
    return processor_of(
        "penalties", parameters | {"penalty_freq": freq, "penalty_present": present}
    )


def test_of_the_penalties_only_repetition_has_a_counterpart() -> None:
    assert penalties() == ("RepetitionPenaltyLogitsProcessor", {"penalty": 1.1})
    assert penalties(repeat=1.0) is None
    assert penalties(last_n=0) is None
    assert penalties(last_n=-1) is None
    for freq, present in ((0.5, 0.0), (0.0, 0.5)):
        with pytest.raises(Unsupported, match="no frequency and no presence penalty"):
            penalties(freq=freq, present=present)


def test_every_sampler_of_the_list_is_mapped_and_no_other() -> None:
    for case in CASES:
        for stage in prepare(case).chain:
            ((name, parameters),) = stage.items()
            supported = name in SAMPLERS and not parameters.get("penalty_freq")
            if supported:
                processor_of(name, parameters)
            else:
                with pytest.raises(Unsupported):
                    processor_of(name, parameters)


@pytest.mark.slow
@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_without_the_extra_the_backend_says_how_to_get_it() -> None:
    assert "pip install sampler-parity[transformers]" in inspect("transformers").unavailable


@extra
def test_every_case_has_its_required_verdict_and_every_difference_its_line(
    backend: BackendProcess, tmp_path: Any
) -> None:
    with accepting("correct"):
        results = [execute(case, [backend]) for case in CASES]
    results = [result.model_copy(update={"accept": "correct"}) for result in results]
    wrong = [(r.id, r.backends["transformers"].verdict) for r in results if not r.ok]
    assert wrong == []
    bundle: Bundle = bundle_of(tmp_path / "b", run_info("transformers"), results)
    parity = matrix([bundle])
    assert parity is not None
    assert parity.unexplained == 0


@extra
def test_a_clone_goes_on_and_a_reset_starts_again(backend: BackendProcess) -> None:
    instance = Worker().build([{"dist": {"seed": 5}}], 64, None)

    def tokens(of: Any, n: int = 20) -> list[int]:
        row = Worker().candidates(np.zeros(64, np.float32))
        return [of.apply(None, row) or row.token for _ in range(n)]

    first = tokens(instance)
    twin = instance.clone()
    assert tokens(twin) == tokens(instance) != first
    instance.reset()
    assert tokens(instance) == first


@extra
def test_draws_are_those_of_drawing_one_by_one() -> None:
    chain = [{"top_k": {"k": 8}}, {"dist": {"seed": 5}}]
    logits = np.linspace(0, 3, 64, dtype=np.float32)
    many = Worker().build(chain, 64, None).draw(Worker().candidates(logits), 50, None)
    instance = Worker().build(chain, 64, None)
    single = []
    for _ in range(50):
        row = Worker().candidates(logits)
        instance.apply(None, row)
        single.append(row.token)
    assert many.tolist() == single
    assert min(single) >= 56


@extra
def test_what_torch_refuses_is_rejected_and_ends_nothing(backend: BackendProcess) -> None:
    masked = StagesCase(
        id="all-masked",
        description="d",
        why="w",
        chain=[{"dist": {"seed": 1}}],
        logits=Literals(values=[-np.inf, -np.inf]),
    )
    assert execute(masked, [backend]).backends["transformers"].verdict == "rejected"
    assert execute(CASES[0], [backend]).ok
    with pytest.raises(InputError, match="strictly positive"):
        Worker().build([{"temp": {"temp": 0.0}}], 4, None)


@pytest.mark.parametrize(("name", "parameters", "wanted"), TABLES["own"])
def test_a_stage_under_its_own_name_is_that_processor(
    name: str, parameters: dict[str, Any], wanted: list[Any]
) -> None:
    assert own_processor(name, parameters, 5) == (tuple(wanted) or None)


def test_every_stage_of_transformers_has_its_processor() -> None:
    assert set(OWN) == {name for name in ALL_ROWS if name.startswith("transformers_")} - {
        "transformers_js"
    }


@extra
def test_processors_that_know_the_prompt_are_as_they_are_specified(
    backend: BackendProcess,
) -> None:
    cases = expand(find_suites(["origin/transformers"])[0], "full")
    results = [execute(case, [backend]) for case in cases]
    wrong = [r.id for r in results if r.backends["transformers"].verdict != "identical"]
    assert (wrong, len(results) > 50) == ([], True)
