"""A batch is judged row by row: a difference is reported with its row and the result of that row
alone.
"""

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends.reference import ReferenceInstance, Worker
from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.batch.run import NOT_TOGETHER
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.failures.explain import difference_lines
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.faults.patch import Patch
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.dist import Dist
from tests.support.cases import ABOUT
from tests.support.inside import last_result_of, result_of

DIST: p.ChainSpec = [{"top_p": {"p": 0.9}}, {"dist": {"seed": 1}}]
GREEDY: p.ChainSpec = [{"greedy": {}}]
UNSEEDED: p.ChainSpec = [{"dist": {"seed": 4294967295}}]
ALL = [{"at": i, "row": i} for i in range(3)]


def case(*chains: p.ChainSpec, steps: Any = (), **batch: Any) -> BatchCase:
    """Three rows for three steps, unless other steps are given."""
    every = (
        steps
        or [{"before": [("join", i) for i in range(len(chains))], "sample": ALL}]
        + [{"sample": ALL[: len(chains)]}] * 2
    )
    logits = {"families": ["normal", "flat"], "n": 16, "seed": 3}
    made = {"sequences": [{"chain": c} for c in chains], "steps": every} | batch
    return BatchCase.model_validate(ABOUT | {"logits": logits, "batch": made})


THREE = case(DIST, GREEDY, DIST)


def judged(case: BatchCase, backend: str | Worker) -> Any:
    """Return the result of a mutant, or of a worker."""
    made = InProcess(backend) if isinstance(backend, str) else InPlace("mine", backend)
    return last_result_of(case, made)


def test_the_row_that_its_neighbours_change_is_named_with_step_and_stage() -> None:
    changed = case(DIST, DIST, DIST)
    with closing(InProcess("batch/odd-places")) as backend:
        of = execute(changed, [backend])
    result: Any = of.backends[backend.name]
    assert (result.verdict, result.step, result.stage) == ("diverged", 0, "dist")
    assert (result.row.at, result.row.of) == (1, 3)
    assert result.detail == "alone this row is right: its neighbours change it"
    lines = list(difference_lines(of, backend.name, "1", result))
    assert lines[0].endswith("vs reference, step 1 of 3, row 2 of 3, stage dist")


def test_a_row_that_is_wrong_alone_is_not_put_down_to_its_neighbours() -> None:
    result = judged(THREE, "top_p/crossing-token-dropped")
    assert (result.stage, result.detail) == ("top_p", "alone it differs, too")
    assert (result.row.at, result.step) == (0, 0)


def test_a_row_without_a_seed_is_a_neighbour_that_nobody_judges() -> None:
    assert judged(case(DIST, UNSEEDED, GREEDY), Worker()).verdict == "identical"
    reseeded = judged(case(DIST, UNSEEDED, DIST), "batch/unseeded-reseeds-all")
    assert (reseeded.stage, reseeded.row.at) == ("dist", 0)


class OtherNumbers(Worker):
    """An engine with random numbers of its own."""

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        moved = [
            {n: g | ({"seed": g["seed"] + 7} if "seed" in g else {}) for n, g in stage.items()}
            for stage in chain
        ]
        return super().build(moved, n_vocab, vocab)


def test_relations_hold_of_an_engine_with_random_numbers_of_its_own() -> None:
    assert judged(THREE, OtherNumbers()).verdict == "diverged"
    alone = case(DIST, GREEDY, DIST, reference=False)
    assert judged(alone, OtherNumbers()).verdict == "identical"


@pytest.mark.parametrize(
    ("mutant", "says"),
    [
        ("batch/one-generator", "in the other order this row selects token"),
        ("batch/seed-of-the-one-before", "alone this row selects token"),
        ("batch/goes-on-where-it-was", "asked again this row selects token"),
        ("batch/changes-its-input", "row 0 of the logits was changed in place"),
    ],
)
def test_without_a_reference_a_relation_says_what_is_wrong(mutant: str, says: str) -> None:
    chains = [[{"dist": {"seed": seed}}] for seed in (1, 2, 3)]
    result = judged(case(*chains, reference=False), mutant)
    assert (result.verdict, result.stage) == ("diverged", "relation")
    assert result.detail.startswith(says)


class RowByRow(InPlace):
    """Takes no batch."""

    def __init__(self) -> None:
        super().__init__("mine", Worker())
        self.sent: list[str] = []

    def hello(self) -> p.HelloReply:
        return super().hello().model_copy(update={"capabilities": ["run"]})

    def ask(self, request: Any, reply: Any, timeout_s: float | None = None) -> Any:
        self.sent.append(request.do)
        return super().ask(request, reply, timeout_s)


def test_an_engine_of_one_row_is_asked_for_one_after_the_other_and_that_is_reported() -> None:
    backend = RowByRow()
    result = last_result_of(THREE, backend)
    assert (result.verdict, result.detail) == ("identical", NOT_TOGETHER)
    assert backend.sent == ["run"] * 3


def test_a_minimized_batch_has_the_rows_and_steps_that_it_takes() -> None:
    with closing(InProcess("batch/greedy-for-all")) as backend:

        def fails(smaller: BatchCase) -> bool:
            result = result_of(smaller, backend)
            return (result.verdict, result.stage) == ("diverged", "dist")

        batch = shrink(case(DIST, GREEDY, DIST, alone=0), fails, 2000).batch
    assert batch is not None
    assert sorted(str(each.chain) for each in batch.sequences) == [
        "[{'dist': {'seed': 0}}]",
        "[{'greedy': {}}]",
    ]
    assert [len(step.sample) for step in batch.steps] == [1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": [{"before": [("leave", 0)]}]}, "out of range, there are 0 live rows"),
        ({"steps": [{"before": [("join", 0)]}]}, "no row samples in any step"),
    ],
)
def test_a_script_that_cannot_be_taken_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        case(DIST, **wrong)


class OtherLastDigit(Worker):
    """An engine whose exp is another in the last digit: every p of dist is off by one."""

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        made = super().build(chain, n_vocab, vocab)
        for sampler in made.chain.samplers:
            if isinstance(sampler, Dist):
                sampler.apply = self.off_by_one(sampler.apply)  # type: ignore[method-assign]
        return made

    @staticmethod
    def off_by_one(apply: Any) -> Any:
        def applied(cand: Candidates) -> None:
            apply(cand)
            cand.p = np.nextafter(cand.p, np.float32(1))

        return applied


class AndParametersByPlace(OtherLastDigit):
    serving = MUTANTS["batch/parameters-by-place"].make


GOES_ON = MUTANTS["batch/goes-on-where-it-was"].of
assert isinstance(GOES_ON, Patch)
OF_ITS_OWN = replace(GOES_ON, where="with generators of its own").faulty()


class AndGoesOn(OtherLastDigit):
    serving = OF_ITS_OWN


FILTERED: list[p.ChainSpec] = [
    [{"dist": {"seed": 1}}, {"top_k": {"k": k}}, {"greedy": {}}] for k in (1, 5, 9)
]


def test_behind_another_last_digit_all_else_is_judged() -> None:
    assert judged(case(*FILTERED), OtherLastDigit()).verdict == "close"
    result = judged(case(*FILTERED), AndParametersByPlace())
    assert (result.verdict, result.stage) == ("diverged", "top_k")
    assert result.detail == "alone this row is right: its neighbours change it"


def test_with_another_last_digit_relations_are_asked_for() -> None:
    result = judged(case(*[[{"dist": {"seed": 1}}]] * 3), AndGoesOn())
    assert (result.verdict, result.stage) == ("diverged", "relation")
