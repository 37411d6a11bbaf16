import numpy as np
import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.outcomes import SOLVED, ChosenOutcomes
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES
from sampler_parity.reference import Candidates, build_chain
from sampler_parity.reference.registry import ROWS
from tests.support.cases import ABOUT

UNSOLVED = {
    "infill": "decides by the texts of tokens, not by numbers",
    "grammar": "decides by a grammar",
    "grammar_lazy_patterns": "decides by a grammar",
    "tail_free": "was removed from llama.cpp; suites/removed has its cuts",
    "mirostat": "estimates an exponent from its row: no parameter alone chooses the cut",
}


def block(**fields: object) -> ChosenOutcomes:
    return ChosenOutcomes.model_validate(ABOUT | fields)


@pytest.mark.parametrize("name", SOLVED)
def test_the_first_stage_leaves_as_many_as_were_chosen(name: str) -> None:
    chosen = [1, 2, 255, 256, 257, 1024, -1]
    cases = {case.id: case for case in block(survivors=chosen).items(quick=False)}
    for m in chosen:
        case = cases[f"a/{name}/{m if m > 0 else 1030 + m}"]
        assert isinstance(case, StagesCase)
        candidates = Candidates.from_logits(case.logits.row(0))
        build_chain([case.chain[0]], n_vocab=1030).apply(candidates)
        left = int((candidates.logits > -np.inf).sum())
        assert left == (m if m > 0 else 1030 + m)


def test_every_sampler_of_llama_cpp_with_a_cut_is_solved_or_has_a_reason() -> None:
    rows = {name: row for name, row in ROWS.items() if name in SIGNATURES}
    cuts = {name for name, row in rows.items() if row.kind == "filter" or row.threshold}
    assert cuts - SOLVED.keys() - UNSOLVED.keys() == set()
    assert UNSOLVED.keys() - ROWS.keys() == set()


@pytest.mark.parametrize(("name", "gaps"), [("top_q", False), ("greedy", False), ("top_q", True)])
def test_a_sampler_without_such_outcomes_is_refused(name: str, gaps: bool) -> None:
    made = block(survivors=[5], samplers=[name], gaps=gaps)
    with pytest.raises(ValueError, match=f"no outcomes can be chosen for '{name}'"):
        list(made.items(quick=True))
