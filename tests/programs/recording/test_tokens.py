"""Texts and tokens of a recording: characters, draws that were left out, what forced a token."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.check import check
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.tokens import RecordedToken, tokens_of
from sampler_parity.programs.recording.why import why
from tests.programs.recording.small_program import CHAIN, Program


def tokens(folder: Path) -> list[RecordedToken]:
    return list(tokens_of(Recording(folder)))


def test_a_token_may_hold_half_a_character(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for token in (0, 2, 3, 1):
        program.sample(token)
    assert [(t.at, t.shown) for t in tokens(tmp_path)] == [(0, "a"), (1, ""), (1, "€"), (2, " b")]
    assert why(Recording(tmp_path), "@1").token.number == 3


def test_a_draw_that_the_program_left_out_is_no_part_of_the_text(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.sample(0)
    program.sample(1, accept=-1)
    program.sample(5)
    program.sample(4, accept=0)
    drawn = [(t.number, t.accepted, t.at) for t in tokens(tmp_path)]
    assert drawn == [(1, True, 0), (2, False, 1), (3, True, 1), (4, False, 2)]
    assert "left it out" in why(Recording(tmp_path), "2").sentence


def test_a_chain_that_never_accepts_takes_every_token(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for token in (0, 1, 0):
        program.sample(token, accept=-1)
    assert [t.accepted for t in tokens(tmp_path)] == [True, True, True]


def test_a_reset_begins_a_text(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.sample(0)
    program.writer.event(e.Reset(s=CHAIN))
    program.sample(1)
    program.sample(1)
    assert [(t.number, t.text, t.index) for t in tokens(tmp_path)] == [
        (1, 1, 1),
        (2, 2, 1),
        (3, 2, 2),
    ]
    assert why(Recording(tmp_path), "2:2").token.number == 3
    assert why(Recording(tmp_path), "2:@0").token.number == 2


def test_a_grammar_before_the_chain_is_its_first_stage(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.sample(0)
    program.sample(0, allowed=1)
    first, second = tokens(tmp_path)
    assert (first.names, second.names) == (("top_k", "greedy"), ("mine", "top_k", "greedy"))
    assert (first.token, first.forced_by, first.model_rank) == (0, "", 1)
    assert (second.token, second.forced_by, second.favourite_removed_by) == (1, "mine", "mine")
    assert second.survivors == (1, 1, 1)
    assert second.differs_from_greedy


def test_a_token_that_the_graph_sampled_is_listed_and_not_judged(tmp_path: Path) -> None:
    """Another read of it, and one that the program does not accept, are no tokens."""
    program = Program(tmp_path)
    program.writer.event(e.SamplerOfSequence(ctx="0x7", seq=0, s=CHAIN))
    for token, accepted in ((0, 0), (1, 1), (4, 0)):
        for _ in range(2):
            program.writer.event(e.InGraph(ctx="0x7", i=0, token=token, p=0.25))
        program.writer.event(e.Accept(s=CHAIN, token=accepted))
    first, second = tokens(tmp_path)
    assert (first.token, first.names, first.verdicts) == (
        0, ("top_k", "greedy"), ("not judged", "not judged"),
    )  # fmt: skip
    assert (second.number, second.shown, second.p, second.before) == (2, " b", 0.25, 6)
    assert why(Recording(tmp_path), "2").sentence.endswith("the graph sampled it with p = 0.25.")
    checked, _ = check(tmp_path, tmp_path / "b", "identical", None)
    assert checked.unjudged == {"it is computed in the graph": 4}
    assert checked.applies == 2


def test_stages_behind_those_in_the_graph_are_judged_on_what_it_left(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.writer.event(e.SamplerOfSequence(ctx="0x7", seq=0, s=CHAIN))
    two = program.array([5, 1], np.array([2, 1], np.float32))
    for chosen in (0, 1):
        one = program.array([5, 1], np.array([2, 1], np.float32), selected=chosen)
        program.apply(CHAIN, two, [("0x3", one)], one, (5, 1)[chosen])
    right, wrong = tokens(tmp_path)
    assert right.verdicts == ("not judged", "identical")
    assert wrong.verdicts == ("not judged", "diverged")


def test_a_chain_that_left_the_graph_is_judged_again(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for sampler in (CHAIN, None):
        program.writer.event(e.SamplerOfSequence(ctx="0x7", seq=0, s=sampler))
    program.sample(0)
    assert [token.verdicts for token in tokens(tmp_path)] == [("identical", "identical")]
    order = np.argsort([0, 1])
    row = program.array(np.arange(6), np.arange(6, dtype=np.float32), first=True)
    program.apply(CHAIN, row, [("0x3", program.array(order, order, selected=0))], row, 0)
    assert tokens(tmp_path)[1].verdicts[0] == "diverged"


@pytest.mark.parametrize("detail", ["survivors", "tokens"])
def test_without_text_tokens_have_numbers_alone(tmp_path: Path, detail: Any) -> None:
    Program(tmp_path, detail, text=False).sample(1)
    (token,) = tokens(tmp_path)
    assert (token.piece, token.at, token.name_of(1)) == (None, None, "token 1")
    assert why(Recording(tmp_path), "1").sentence.startswith("token 1 was chosen because")


def test_without_candidates_the_answer_is_what_was_recorded(tmp_path: Path) -> None:
    Program(tmp_path, "tokens").sample(1)
    found = why(Recording(tmp_path), "1")
    assert found.sentence == '" b" was chosen because greedy takes the largest logit.'
    assert (found.token.model_p, found.runner_up) == (None, None)
    assert {stage.detail for stage in found.stages} == {"--detail tokens has no candidates"}


def test_a_token_beyond_the_vocabulary_is_refused(tmp_path: Path) -> None:
    Program(tmp_path).sample(1)
    (tmp_path / "m.json").write_text('{"pieces": []}')
    with pytest.raises(InputError, match="has no token 1"):
        tokens(tmp_path)
