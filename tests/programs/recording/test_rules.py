"""The rules of use, on events that tests write."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.check import BACKEND, check
from sampler_parity.programs.recording.decoded import DecodedTexts
from sampler_parity.programs.recording.histories import History
from sampler_parity.programs.recording.order import StageSpec, behind_the_draw, without_effect
from sampler_parity.programs.recording.streams import Streams
from tests.support.examples import examples
from tests.support.recordings import write_recording

CHAIN: list[StageSpec] = [("penalties", {"penalty_last_n": 64}), ("dist", {"seed": 7})]
TOKENS = st.lists(st.integers(0, 5), min_size=1, max_size=8)


class Program:
    """A right program: it decodes, draws and accepts. Its tokens are few, so that they repeat."""

    def __init__(self, positions: bool) -> None:
        self.texts, self.history, self.streams = DecodedTexts(), History(), Streams()
        self.positions, self.n, self.numbers = positions, 0, count()
        self.rules: list[str] = []

    def decode(self, tokens: list[int]) -> None:
        pos = [self.n + i for i in range(len(tokens))] if self.positions else []
        out = list(range(len(tokens)))
        self.texts.follow(e.Decode(ctx="0x1", tokens=tokens, pos=pos, out=out))
        self.n += len(tokens)

    def draw(self, token: int, row: int = -1) -> None:
        end = self.texts.row(e.Apply(q=0, s="0x2", ctx="0x1", i=row, before=e.Array(n=6)))
        assert end is not None
        self.rules += [breach.rule for breach in self.history.draw(token, end, CHAIN)]
        u = next(self.numbers) / 1000
        self.rules += [breach.rule for breach in self.streams.draw(end, token, u, 1, "0x2")]
        end.text.awaited = token

    def accept(self, *tokens: int) -> None:
        self.history.tokens += tokens

    def turn(self, prompt: list[int], drawn: list[int], accepts: int) -> None:
        """Take in a prompt, and generate tokens one by one. accepts: how often, for each."""
        self.decode(prompt)
        for token in drawn:
            self.draw(token)
            self.accept(*[token] * accepts)
            self.decode([token])

    def drafted(self, token: int, drafts: list[int], drawn: list[int]) -> int:
        """Decode a token and drafts, and draw behind each until one is refused."""
        start = self.n
        self.decode([token, *drafts])
        for row, (draft, token) in enumerate(zip([*drafts, -1], drawn, strict=False)):
            self.draw(token, row)
            self.accept(token)
            if token != draft:
                break
        self.n = start + row + 1
        return token


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_a_right_loop_breaks_no_rule(
    turns: list[tuple[list[int], list[int]]], positions: bool, accepts: bool
) -> None:
    program = Program(positions)
    for prompt, drawn in turns:
        program.accept(*prompt * accepts)
        program.turn(prompt, drawn, 1)
    assert set(program.rules) <= {"prompt-not-accepted"}


@settings(max_examples=examples(300))
@given(TOKENS, st.lists(st.tuples(TOKENS, TOKENS), min_size=3, max_size=12))
def test_drafts_break_no_rule(
    prompt: list[int], batches: list[tuple[list[int], list[int]]]
) -> None:
    program = Program(positions=True)
    program.decode(prompt)
    program.draw(token := 3)
    program.accept(token)
    for drafts, drawn in batches:
        token = program.drafted(token, drafts, drawn)
    assert set(program.rules) <= {"prompt-not-accepted"}


@settings(max_examples=examples(200))
@given(TOKENS, st.lists(st.integers(0, 5), min_size=6, max_size=12), st.booleans())
def test_a_second_accept_is_found_in_any_text(
    prompt: list[int], drawn: list[int], positions: bool
) -> None:
    program = Program(positions)
    program.turn(prompt, drawn, 2)
    assert "accepted-twice" in program.rules


@pytest.mark.parametrize(("sampler", "rule"), [("0x1", "aborted"), (None, "")])
def test_an_abort_is_named_with_its_text(sampler: str | None, rule: str, tmp_path: Path) -> None:
    why = "llama-sampler.cpp:1: fatal error"
    write_recording(tmp_path / "r").event(e.Aborted(s=sampler, why=why))
    checked, _ = check(tmp_path / "r", tmp_path / "b", "identical", None)
    last = checked.results[-1].backends[BACKEND]
    assert (last.what, why in "".join([last.detail, *checked.notes])) == (rule, True)


def test_only_stages_that_act_stand_behind_the_draw() -> None:
    dist, top_k, off = ("dist", {"seed": 1}), ("top_k", {"k": 4}), ("temp", {"temp": 1.0})
    assert behind_the_draw([dist, off, top_k]) == (0, [2])
    assert behind_the_draw([dist, ("temp", {"temp": "nan"})]) == (0, [1])
    right: tuple[list[StageSpec], ...]
    right = [top_k, dist], [dist, top_k, dist], [dist, off], [dist, ("theirs", {})], [top_k, off]
    assert [behind_the_draw(chain) for chain in right] == [None] * 5


def test_a_stage_behind_one_that_leaves_a_token_has_no_effect() -> None:
    single, top_p = ("temp", {"temp": 0.0}), ("top_p", {"p": 0.9})
    assert [*without_effect([top_p, single, ("dist", {"seed": 1})])] == []
    assert [*without_effect([single, top_p, ("min_p", {"p": 0.0})])] == [(0, 1)]
