"""A fault by construction is named if all that was looked at agrees, and refused otherwise."""

from contextlib import closing

import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.faults import Mutant
from sampler_parity.harness.faults.diagnosis import Judged, Seen, constructed
from sampler_parity.harness.faults.families import families
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference.samplers.top_k import TopK
from tests.support.cases import stages
from tests.support.inside import result_of


def case(chain: ChainSpec, n: int = 40, seed: int = 0) -> StagesCase:
    logits = {"family": "normal", "n": n, "seed": seed}
    return stages(chain, logits, id=f"{len(str(chain))}-{n}-{seed}")


def top_k(k: int, n: int = 40) -> StagesCase:
    return case([{"top_k": {"k": k}}], n)


def judged(fault: Mutant, cases: list[StagesCase]) -> tuple[Judged, Judged]:
    """Return the cases that fail and those that pass."""
    with closing(InProcess(fault)) as backend:
        pairs: Judged = [(one, result_of(one, backend)) for one in cases]
    failing = [pair for pair in pairs if pair[1].verdict != "identical"]
    return failing, [pair for pair in pairs if pair not in failing]


def named(fault: Mutant, cases: list[StagesCase]) -> str:
    failing, passing = judged(fault, cases)
    small, result = failing[0]
    return "".join(known.fault for known in constructed(Seen(small, result, failing, passing, [])))


def at_most(most: int) -> Mutant:
    return Mutant("top_k/mine", lambda k: TopK(min(k, most)), text="mine")


LARGER = [top_k(k) for k in (20, 25, 30, 5, 16, 0, 1)]


def test_a_parameter_that_is_taken_otherwise_is_named() -> None:
    assert named(at_most(16), LARGER) == "k is taken at most 16"


@pytest.mark.slow
def test_a_candidate_that_one_passing_case_refutes_is_refused() -> None:
    """At most 18: where k is 17 the backend is right, and `at most 16` is wrong."""
    assert named(at_most(16), [top_k(20), top_k(25)]) == "k is taken at most 16"
    assert named(at_most(18), [top_k(20), top_k(25), top_k(17)]) == ""


@pytest.mark.slow
def test_an_unknown_behaviour_has_no_name() -> None:
    class Third(TopK):
        def apply(self, cand: object) -> None:
            super().apply(cand)  # type: ignore[arg-type]
            cand.keep(slice(None, None, 3))  # type: ignore[attr-defined]

    assert named(Mutant("top_k/mine", Third, text="mine"), LARGER) == ""


def test_one_case_alone_names_nothing() -> None:
    assert named(at_most(16), [top_k(20), top_k(5)]) == ""


def test_the_stage_of_an_engine_has_no_families() -> None:
    assert [*families("vllm_penalties")] == []
