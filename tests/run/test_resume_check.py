"""harness/run/resume_check.py:

`--resume` takes no row that its suite would not have made, even if its digests are right.
"""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.records import CaseResult, Result
from sampler_parity.harness.bundle.writer import create, resume
from sampler_parity.harness.checks.distribution.record import CellOnBackend, DistributionResult
from sampler_parity.harness.checks.logits import DecodeResult, LogitsFigures
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.run.plan import Plan, RunOptions, plan_of
from sampler_parity.harness.run.resume_check import misfit_of
from tests.support.report_bundles import case, diverged, run_info

SUITE = (Path(__file__).parent / "suites/little.toml").read_text(encoding="utf-8")
ONE: dict[str, Any] = {"suite": "mine/little", "samplers": ["top_k", "greedy"]}

TIMED = TimingResult(id="timing/x", sampler="x", n_vocab=8, repetitions=1, ns={"null": [1] * 8})


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    path = tmp_path / "mine/little.toml"
    path.parent.mkdir()
    path.write_text(SUITE)
    return plan_of(RunOptions([str(path)], ["null"]))


def one(**fields: Any) -> CaseResult:
    return case("little/one", fields.pop("backends", {"null": diverged()}), **(ONE | fields))


def drawn(**fields: Any) -> DistributionResult:
    row: dict[str, Any] = {"id": "little/drawn", "suite": "mine/little", "what": "frequency"}
    row |= {"samplers": ["dist"], "n_vocab": 2, "alpha": 1e-6, "beta": 0.1, "planned": 1}
    row["backends"] = {"null": CellOnBackend(decision="different")}
    row["required"] = {"null": ["equivalent"]}
    return DistributionResult(**(row | fields))


def logits(name: str) -> DecodeResult:
    none = {"null": LogitsFigures(failed="crashed: x")}
    row: dict[str, Any] = {"model_sha256": "", "prompt_sha256": "", "rows": 1, "kept": False}
    return DecodeResult(id=name, suite="mine/little", first="null", backends=none, **row)


def test_what_the_run_makes_fits(plan: Plan) -> None:
    misfit = misfit_of(plan)
    assert misfit(one()) == misfit(drawn()) == misfit(TIMED) == ""
    assert misfit(one(required={"null": ["unsupported"]})) == ""  # a sampler that a release lacks


MISFITS: dict[str, tuple[Result, str]] = {
    "no case of it": (
        case("little/two", {"null": diverged()}, **ONE),
        "case 'little/two' is not part of this run",
    ),
    "no logits of it": (logits("little/two"), "decode 'little/two' is not part of this run"),
    "another suite": (
        one(suite="parity/top_k"),
        "'little/one' is in suite mine/little, not 'parity/top_k'",
    ),
    "other samplers": (one(samplers=["top_p"]), "'little/one' has other samplers: top_p"),
    "another backend": (
        one(backends={"other": diverged()}),
        "'little/one' has results of other backends: other",
    ),
    "no backend": (one(backends={}), "'little/one' has results of other backends: none"),
    "what is required": (
        one(required={"null": ["diverged"]}),
        "'little/one' requires identical of null, not diverged",
    ),
    "what is accepted": (one(accept="close"), "'little/one' accepts close, but the run does not"),
    "what is required of draws": (
        drawn(required={"null": ["equivalent", "different"]}),
        "'little/drawn' requires equivalent of null, not equivalent or different",
    ),
    "no draws of it": (drawn(id="little/one"), "distribution 'little/one' is not part of this run"),
}


@pytest.mark.parametrize(("row", "message"), MISFITS.values(), ids=MISFITS)
def test_a_row_of_another_case_or_requirement_is_refused_with_its_line(
    tmp_path: Path, plan: Plan, row: Result, message: str
) -> None:
    info = run_info("null", suites=plan.suites)
    create(tmp_path / "b", info).append(row)
    path = tmp_path / "b/results.jsonl"
    before = path.read_bytes()
    with pytest.raises(InputError) as refused:
        resume(tmp_path / "b", info, misfit_of(plan))
    assert str(refused.value) == (
        f"{path}:2: {message} - put it back, or keep only the lines above it,"
        " or run again without --resume, to another -o"
    )
    assert path.read_bytes() == before
