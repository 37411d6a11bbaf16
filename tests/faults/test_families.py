"""A fault by construction is named if all that was looked at agrees, and refused otherwise."""

from contextlib import closing
from math import inf

import pytest

from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.faults import Mutant
from sampler_parity.harness.faults.diagnosis import CHUNK, Judged, Seen, constructed, diagnose
from sampler_parity.harness.faults.families import families
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.samplers.top_k import TopK


def case(chain: ChainSpec, n: int = 40, seed: int = 0) -> StagesCase:
    return StagesCase(
        id=f"{len(str(chain))}-{n}-{seed}",
        description="A case",
        why="To be diagnosed.",
        chain=chain,
        logits=GeneratedLogits(family="normal", n=n, seed=seed),
    )


def top_k(k: int, n: int = 40) -> StagesCase:
    return case([{"top_k": {"k": k}}], n)


def judged(fault: Mutant, cases: list[StagesCase]) -> tuple[Judged, Judged]:
    """Return the cases that fail and those that pass."""
    with closing(InProcess(fault)) as backend:
        pairs: Judged = [(one, execute(one, [backend]).backends[backend.name]) for one in cases]
    failing = [pair for pair in pairs if pair[1].verdict != "identical"]
    return failing, [pair for pair in pairs if pair not in failing]


def named(fault: Mutant, cases: list[StagesCase]) -> str:
    failing, passing = judged(fault, cases)
    small, result = failing[0]
    for begin in range(0, len([*families(fault.stage)]), CHUNK):
        for known in constructed(Seen(small, result, failing, passing, []), inf, begin):
            return known.fault
    return ""


def at_most(most: int) -> Mutant:
    return Mutant("top_k/mine", lambda k: TopK(min(k, most)), text="mine")


def edited(old: str, new: str) -> Mutant:
    return Mutant("top_k/mine", Patch("a test", "top_k/mine", ((old, new),)))


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


@pytest.mark.slow
def test_an_edit_of_the_text_is_named_with_its_condition() -> None:
    fault = edited(
        "    k = min(k, len(cand))\n", "    k = min(k, len(cand))\n    cand.selected = -1\n"
    )
    behind = [
        case([{"greedy": {}}, {"top_k": {"k": k}}], n, seed)
        for k, n, seed in [(3, 9, 0), (5, 20, 1), (0, 9, 2), (9, 9, 3)]
    ]
    assert named(fault, behind) == "top_k clears the selection before `k = min(k, len(cand))`"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REFERENCE_SAMPLERS])
def test_nearly_every_edit_of_a_sampler_can_be_built(name: str) -> None:
    built, broken = 0, 0
    for fault in families(name):
        try:
            assert callable(fault.make)
            built += 1
        except SyntaxError:
            broken += 1
    assert built > 30
    assert broken <= built / 20


def test_the_stage_of_an_engine_has_no_families() -> None:
    assert [*families("vllm_penalties")] == []


@pytest.mark.slow
def test_a_planted_fault_that_few_passing_cases_refute_is_named_with_an_exception() -> None:
    """k + 1 stay, but not if k is 1: one of 15 passing cases refutes the planted k + 1."""

    class MoreThanOne(TopK):
        def apply(self, cand: Candidates) -> None:
            self.k += self.k > 1
            super().apply(cand)

    cases = [top_k(5), top_k(8), *(top_k(0, n) for n in range(20, 34)), top_k(1)]
    failing, passing = judged(Mutant("top_k/mine", MoreThanOne, text="mine"), cases)
    assert (len(failing), len(passing)) == (2, 15)
    seen = Seen(*failing[0], failing, passing, [])
    assert diagnose(seen) == []
    names = [known.fault for known in constructed(seen, inf, -1)]
    assert names == ["k + 1 tokens stay, but not if k is 1"]
    unlike = Seen(*failing[0], failing, [*passing[:5], passing[-1]], [])  # one of 6 refutes it
    assert constructed(unlike, inf, -1) == []
