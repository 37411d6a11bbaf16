"""The suites of properties: the reference has each property, and a planted fault of each is caught.

They are judged by tokens alone. Each case states which tokens a chain leaves.
"""

import contextlib
import functools
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
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.inside import Inside


@functools.cache
def cases() -> dict[str, Any]:
    paths = find_suites(["properties"])
    return {case.id: case for path in paths for case in expand(path, "quick")}


def asked(of: Case, backend: Backend) -> CaseResult:
    with contextlib.closing(backend):
        return execute(of, [backend])


def result(id: str, worker: Any) -> BackendResult:
    return asked(cases()[id], Inside(worker, name="mine")).backends["mine"]


@pytest.mark.slow
def test_the_reference_has_every_property() -> None:
    with contextlib.closing(Inside(reference.Worker(), name="mine")) as mine:
        results = [execute(case, [mine]) for case in cases().values()]
    assert {result.backends["mine"].verdict for result in results} == {"identical"}
    assert [result.id for result in results if not result.met("mine")] == []
    assert {case.id.partition("/")[0] for case in cases().values()} == {*PROPERTIES}


class OnlyRuns(reference.Worker):
    """An engine that has neither draws nor batches of its own, and reports no stages."""

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"capabilities": ["run", "no_stages"]})


def test_an_engine_that_takes_no_draws_is_asked_step_by_step() -> None:
    assert result("ties/top_k", OnlyRuns()).verdict == "identical"


CAUGHT = [
    ("batch_rows/greedy/V32-x8-slots-s0", "batch/last-reads-the-one-before"),
    ("batch_rows/dist/V32-x8-slots-s0", "batch/one-generator"),
    ("batch_rows/temp/V32-x8-steady-s0", "batch/temperature-of-the-first"),
    ("batch_rows/temp/V32-x8-steady-s0", "batch/greedy-for-all"),
    ("batch_rows/top_k/V32-x8-steady-s0", "batch/largest-k"),
    ("batch_rows/penalties/V32-x8-slots-s0", "batch/slot-keeps-history"),
    ("ignored/temp", "temp/ignored"),
    ("ignored/logit_bias", "logit_bias/omitted"),
    ("ignored/xtc", "xtc/removes-only-the-first"),
    ("ignored/penalty_freq", "penalties/swaps-freq-and-present"),
    ("ignored/penalty_last_n", "penalties/oldest-of-the-history"),
    ("masked/greedy", "greedy/starts-at-zero"),
    ("min_keep/beyond", "top_p/min-keep-ignored"),
    ("min_keep/min_p", "min_p/min-keep-ignored"),
    ("min_keep/top_p", "top_p/min-keep-one-more"),
    ("min_keep/typical_p", "typical_p/min-keep-ignored"),
    ("min_keep/xtc", "xtc/min-keep-ignored"),
    ("off/top_n_sigma", "top_n_sigma/negative-is-on"),
    ("order/top_k-before-top_p", "chain/top-p-before-top-k"),
    ("order/top_p-before-temp", "chain/temperature-first"),
    ("order/min_p-before-temp", "chain/temperature-first"),
    ("seed/other", "dist/seed-ignored"),
    ("seed/reset", "dist/reset-keeps-stream"),
    ("temp_zero/zero", "temp/zero-keeps-element-zero"),
    ("temp_zero/negative", "temp/negative-divides"),
    ("temp_zero/zero", "temp/zero-is-off"),
    ("ties/argmax", "greedy/last-of-equal-wins"),
    ("ties/temp-zero", "temp/zero-keeps-ties"),
    ("ties/top_k", "top_k/keeps-ties-of-the-last"),
    ("ties/top_k", "top_k/ties-that-do-not-fit-go"),
    ("ties/top_p", "top_p/ties-of-the-last-stay"),
    ("ties/top_p-at-the-cut", "top_p/ties-that-do-not-fit-go"),
    ("top_k_zero/minus-one", "top_k/negative-means-one"),
    ("top_k_zero/one", "top_k/keeps-one-more"),
    ("top_k_zero/zero", "top_k/zero-means-one"),
    ("top_p_one/zero", "top_p/zero-keeps-token-zero"),
]


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
    assert ignored.verdict == "diverged"
    assert ignored.stage == "ignored"
    assert ignored.detail == "the same as without what stands before the draw"


def test_a_token_that_is_drawn_too_rarely_to_be_missed_is_no_expectation() -> None:
    rare = cases()["masked/draw"].model_dump(by_alias=True)
    rare |= {"logits": {"probs": [0.95, 0.05]}, "expect": {"kept": [0, 1]}}
    judged = asked(case_from(rare), Inside(reference.Worker(), name="mine"))
    assert judged.unmet == "token 1 is drawn too rarely to be missed"
    rare |= {"expect": {"kept": [0]}}
    judged = asked(case_from(rare), Inside(reference.Worker(), name="mine"))
    assert judged.unmet == "kept: expected [0], got [0, 1]"


class InOwnWords(reference.Worker):
    """An engine that knows nothing but its own sampler, akunu's here."""

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"samplers": ["akunu"]})


def test_an_engine_is_asked_in_its_own_words_and_skipped_where_it_has_none() -> None:
    with contextlib.closing(Inside(InOwnWords(), name="akunu/cpu")) as mine:
        own, other = (execute(cases()[id], [mine]) for id in ("ties/top_k", "ignored/xtc"))
    assert own.backends["akunu/cpu"].verdict == "identical"
    assert other.backends["akunu/cpu"].verdict == "skipped"


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
