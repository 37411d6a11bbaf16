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
from sampler_parity.programs.recording.order import (
    StageSpec,
    behind_the_draw,
    is_off,
    without_effect,
)
from sampler_parity.programs.recording.streams import Streams
from sampler_parity.programs.recording.writer import RecordingWriter
from tests.support.examples import examples
from tests.support.recordings import write_recording

PENALTIES: StageSpec = (
    "penalties",
    {"penalty_last_n": 64, "penalty_repeat": 1.0, "penalty_freq": 0.4, "penalty_present": 0.0},
)
CHAIN: list[StageSpec] = [PENALTIES, ("dist", {"seed": 7})]
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

    def turn(self, prompt: list[int], drawn: list[int], accepts: bool) -> None:
        """Take in a prompt, and generate tokens one by one."""
        if accepts:
            self.accept(*prompt)
        self.decode(prompt)
        for token in drawn:
            self.draw(token)
            self.accept(token)
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
        program.turn(prompt, drawn, accepts)
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
    program.decode(prompt)
    for token in drawn:
        program.draw(token)
        program.accept(token, token)
        program.decode([token])
    assert "accepted-twice" in program.rules


@pytest.fixture
def writer(tmp_path: Path) -> RecordingWriter:
    return write_recording(tmp_path / "r")


def test_an_abort_that_no_rule_explains_is_named_with_its_text(
    tmp_path: Path, writer: RecordingWriter
) -> None:
    writer.event(e.Aborted(s="0x1", why="llama-sampler.cpp:1: fatal error"))
    checked, _ = check(tmp_path / "r", tmp_path / "b", "identical", None)
    result = checked.results[-1].backends[BACKEND]
    assert (result.what, "fatal error" in result.detail) == ("aborted", True)


def test_an_abort_outside_of_samplers_is_a_note(tmp_path: Path, writer: RecordingWriter) -> None:
    writer.event(e.Aborted(why="ggml.c:1: out of memory"))
    checked, _ = check(tmp_path / "r", tmp_path / "b", "identical", None)
    assert not any(result.failed(BACKEND) for result in checked.results)
    assert "ggml.c:1: out of memory" in checked.notes[-1]


@pytest.mark.parametrize(
    ("name", "arguments", "off"),
    [
        ("top_k", {"k": 0}, True), ("top_k", {"k": 1}, False), ("top_p", {"p": 1.0}, True),
        ("min_p", {"p": 0.0}, True), ("temp", {"temp": 1.0}, True), ("temp", {"temp": 0.9}, False),
        ("xtc", {"p": 0.5, "t": 0.6}, True), ("xtc", {"p": 0.5, "t": 0.1}, False),
        ("top_p", {}, False), ("top_p", {"p": "nan"}, False), ("theirs", {"p": 1.0}, False),
        (*PENALTIES, False), ("penalties", {**PENALTIES[1], "penalty_last_n": 0}, True),
    ],
)  # fmt: skip
def test_arguments_turn_a_sampler_off(
    name: str, arguments: dict[str, float | str], off: bool
) -> None:
    assert is_off(name, arguments) == off


def test_only_stages_that_act_stand_behind_the_draw() -> None:
    dist, top_k, off = ("dist", {"seed": 1}), ("top_k", {"k": 4}), ("temp", {"temp": 1.0})
    assert behind_the_draw([dist, off, top_k]) == (0, [2])
    assert behind_the_draw([top_k, dist]) is None
    assert behind_the_draw([dist, top_k, dist]) is None  # the second one draws
    assert behind_the_draw([dist, off]) is None
    assert behind_the_draw([dist, ("theirs", {})]) is None  # it may only look
    assert behind_the_draw([top_k, off]) is None


def test_a_stage_behind_one_that_leaves_a_token_has_no_effect() -> None:
    single, top_p = ("temp", {"temp": 0.0}), ("top_p", {"p": 0.9})
    assert [*without_effect([top_p, single, ("dist", {"seed": 1})])] == []
    assert [*without_effect([single, top_p, ("min_p", {"p": 0.0})])] == [(0, 1)]
