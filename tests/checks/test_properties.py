"""The suites of properties: the reference has each property, and a planted fault of each is caught.

They are judged by tokens alone. Each case states which tokens a chain leaves.
"""

import contextlib
import functools
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.backends import reference
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.failures.explanations import PROPERTIES
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.inside import Inside, claiming, last_result_of, result_of


@functools.cache
def cases() -> dict[str, Any]:
    paths = find_suites(["properties"])
    return {case.id: case for path in paths for case in expand(path, "quick")}


def asked(of: Case, backend: Backend) -> CaseResult:
    with contextlib.closing(backend):
        return execute(of, [backend])


def result(id: str, worker: Any) -> BackendResult:
    return last_result_of(cases()[id], Inside(worker, name="mine"))


@pytest.mark.slow
def test_the_reference_has_every_property() -> None:
    with contextlib.closing(Inside(reference.Worker(), name="mine")) as mine:
        results = [execute(case, [mine]) for case in cases().values()]
    assert {result.backends["mine"].verdict for result in results} == {"identical"}
    assert [result.id for result in results if not result.met("mine")] == []
    assert {case.id.partition("/")[0] for case in cases().values()} == {*PROPERTIES}


def test_an_engine_that_takes_no_draws_is_asked_step_by_step() -> None:
    """It has no batches either, and reports no stages."""
    runs = claiming(reference.Worker(), capabilities=["run", "no_stages"])
    assert result("ties/top_k", runs).verdict == "identical"


_CAUGHT = Path(__file__).with_name("properties.toml").read_text(encoding="utf-8")
CAUGHT = [(id, mutant) for id, mutants in tomllib.loads(_CAUGHT).items() for mutant in mutants]


@pytest.mark.slow
@pytest.mark.parametrize(("id", "mutant"), CAUGHT)
def test_a_planted_fault_is_caught(id: str, mutant: str) -> None:
    judged = asked(cases()[id], InProcess(mutant))
    assert judged.failed(f"mutant/{mutant}"), judged


class Without(reference.Worker):
    """An engine that accepts a stage and ignores it."""

    def __init__(self, sampler: str) -> None:
        super().__init__()
        self.sampler = sampler

    def build(
        self, chain: ChainSpec, n_vocab: int, vocab: str | None
    ) -> reference.ReferenceInstance:
        heeded = [stage for stage in chain if self.sampler not in stage]
        return super().build(heeded, n_vocab, vocab)


@pytest.mark.parametrize("id", [id for id in cases() if id.startswith("ignored/")])
def test_a_stage_that_is_silently_ignored_is_caught(id: str) -> None:
    (stage, *_) = cases()[id].chain
    ignored = result(id, Without(next(iter(stage))))
    assert (ignored.verdict, ignored.stage) == ("diverged", "ignored")
    assert ignored.detail == "the same as without what stands before the draw"


def test_a_token_that_is_drawn_too_rarely_to_be_missed_is_no_expectation() -> None:
    rare = cases()["masked/draw"].model_dump(by_alias=True)
    rare["logits"] = {"probs": [0.95, 0.05]}
    for kept, unmet in [
        ([0, 1], "token 1 is drawn too rarely to be missed"),
        ([0], "kept: expected [0], got [0, 1]"),
    ]:
        of = case_from(rare | {"expect": {"kept": kept}})
        assert asked(of, Inside(reference.Worker(), name="mine")).unmet == unmet


def test_an_engine_is_asked_in_its_own_words_and_skipped_where_it_has_none() -> None:
    only = claiming(reference.Worker(), samplers=["akunu"])
    with contextlib.closing(Inside(only, name="akunu/cpu")) as mine:
        own, other = (result_of(cases()[id], mine) for id in ("ties/top_k", "ignored/xtc"))
    assert (own.verdict, other.verdict) == ("identical", "skipped")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chain": [{"temp": {"temp": 1.0}}]}, "the last stage must be dist or greedy, not temp"),
        ({"draws": 3}, "kept.draws\n  Extra inputs are not permitted"),
        ({"streams": "reset"}, "streams.expect\n  Extra inputs are not permitted"),
        ({"expect": None}, "stages.instead\n  Extra inputs are not permitted"),
    ],
)
def test_what_does_not_go_with_properties_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        case_from(cases()["ties/top_k"].model_dump(by_alias=True) | change)
