"""`--accept correct` on texts: tokens without stages are judged by the stages of the same steps."""

import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.engines.correct import bfloat16, blocked, float64, worker
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.correct import Judged, Memory, judge_sample
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.sequences import Slots, take_all
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.verdicts import Accept
from sampler_parity.maintenance.selftest import sequences as made
from sampler_parity.maintenance.selftest.parts import PARTS
from sampler_parity.reference import Candidates, build_chain
from tests.support.inside import case_of

N, TOKENS = 4096, 48
CHAIN: p.ChainSpec = [
    {"penalties": {"penalty_last_n": 64, "penalty_repeat": 1.3, "penalty_freq": 0.5}},
    {"top_p": {"p": 0.95}},
    {"temp": {"temp": 1.2}},
    {"dist": {"seed": 3}},
]
CASE = case_of(Path("small"), CHAIN, TOKENS, prompt=[5, 6, 7, 5])


class Texts(worker.Worker):
    """A correct engine that generates and has slots. in_texts: a fault of its chains there."""

    def __init__(self, of: worker.Worker, in_texts: Callable[[Any], Any] = lambda chain: chain):
        super().__init__(of.ops)
        self.in_texts, self.make = in_texts, Slots

    def hello(self) -> p.HelloReply:
        can = ["run", "generate", "sequences"]
        return super().hello().model_copy(update={"capabilities": can})

    def generate(self, request: p.GenerateRequest, rows: NDArray[np.float32]) -> p.GenerateReply:
        chain = self.in_texts(self.build(request.chain, request.n_vocab, request.model))
        text = list(request.prompt)
        for token in text:
            chain.accept(token)
        for row in rows:
            rng = np.random.default_rng(zlib.crc32(np.array(text, np.int32).tobytes()))
            row[:] = rng.normal(0, 2, len(row)).astype(np.float32)
            row[request.prompt] += 7  # so their penalty shows
            cand = self.candidates(row)
            chain.apply(None, cand)
            text.append(int(cand.ids[cand.selected]))
            chain.accept(text[-1])
        return p.GenerateReply(tokens=text[len(request.prompt) :])

    def sequences(
        self, request: p.SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[p.SequencesReply, list[Result]]:
        engine = self

        class Context(made.MadeContext):
            def sample(self, chain: Any, output: int) -> int:
                cand = engine.candidates(self.rows[output])
                chain.apply(None, cand)
                token = int(cand.ids[cand.selected])
                chain.accept(token)
                return token

        context: Any = Context(request.n_vocab)
        itself: Any = self
        return take_all(self.make(itself, request, context, None), rows)


def judged(case: Case, of: Any, accept: Accept = "correct") -> CaseResult:
    with closing(InPlace("made", of)) as backend, accepting(accept):
        return execute(case, [backend])


@pytest.mark.slow
@pytest.mark.parametrize("engine", [bfloat16, blocked, float64])
@pytest.mark.parametrize("case", [CASE, made.case()], ids=["generation", "sequences"])
def test_a_correct_engine_passes(engine: Any, case: Case) -> None:
    result = judged(case, Texts(engine.Worker()))
    assert result.backends["made"].verdict in ("identical", "correct")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_texts_of_16_bit_probabilities_are_correct_and_not_identical(seed: int) -> None:
    chain = [*CHAIN[:-1], {"dist": {"seed": seed}}]
    case, engine = CASE.model_copy(update={"chain": chain}), Texts(bfloat16.Worker())
    assert judged(case, engine, "identical").backends["made"].verdict == "diverged"
    result = judged(case, engine)
    assert (result.backends["made"].verdict, result.steps) == ("correct", TOKENS)


class _Wrapped:
    def __init__(self, chain: Any) -> None:
        self.chain = chain

    def apply(self, stage: int | None, cand: Any) -> None:
        self.chain.apply(stage, cand)

    def accept(self, token: int) -> None:
        self.chain.accept(token)


class _SkipsPrompt(_Wrapped):
    seen = 0

    def accept(self, token: int) -> None:
        self.seen += 1
        if self.seen > 4:
            self.chain.accept(token)


class _AcceptsTwice(_Wrapped):
    def accept(self, token: int) -> None:
        self.chain.accept(token)
        self.chain.accept(token)


class _NeverDrawsOn(_Wrapped):
    def apply(self, stage: int | None, cand: Any) -> None:
        self.chain.clone().apply(stage, cand)


class _KeepsFirst(_Wrapped):
    first: Any = None

    def apply(self, stage: int | None, cand: Any) -> None:
        self.chain.apply(stage, cand)
        self.first = self.first or int(cand.ids[cand.selected])
        if self.first in cand.ids:
            cand.selected = int(np.flatnonzero(cand.ids == self.first)[0])


class _WithoutTemperature(_Wrapped):
    def apply(self, stage: int | None, cand: Any) -> None:
        for each in (0, 1, 3):
            self.chain.apply(each, cand)


FAULTS = [_SkipsPrompt, _AcceptsTwice, _NeverDrawsOn, _KeepsFirst, _WithoutTemperature]


@pytest.mark.slow
@pytest.mark.parametrize("engine", [bfloat16, float64])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_text_that_the_stages_do_not_explain_is_wrong(fault: Any, engine: Any) -> None:
    result = judged(CASE, Texts(engine.Worker(), fault))
    assert result.backends["made"].verdict == "diverged"
    assert result.steps == (result.backends["made"].step or 0) + 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", [bfloat16, float64])
def test_a_wrong_stage_of_the_engine_is_named(engine: Any) -> None:
    def counts_all(ops: Any, cand: Any, of: Any) -> None:
        engine.Worker.samplers["top_p"](ops, cand, of)
        cand.keep(slice(len(cand) * 9 // 10))

    of = Texts(engine.Worker())
    of.samplers = {**of.samplers, "top_p": counts_all}
    result = judged(CASE, of).backends["made"]
    assert (result.verdict, result.stage) == ("diverged", "top_p")


def test_an_engine_without_steps_says_why_its_text_is_not_judged() -> None:
    class Blind(Texts):
        def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Any:
            if hasattr(self, "asked"):
                raise Unsupported("generates and nothing else")
            self.asked = True
            return super().build(chain, n_vocab, vocab)

    result = judged(CASE, Blind(bfloat16.Worker())).backends["made"]
    reason = "not judged by the specification: generates and nothing else"
    assert (result.verdict, result.detail) == ("diverged", reason)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(n for n in PARTS if n.startswith("sequences/")))
def test_a_fault_of_slots_is_caught_in_another_arithmetic(name: str) -> None:
    of = Texts(bfloat16.Worker())
    of.make = PARTS[name].make
    assert judged(made.case(), of).backends["made"].verdict == "diverged"


def test_the_token_is_compared_behind_the_chain_as_one_object() -> None:
    chain: p.ChainSpec = [{"greedy": {}}]
    row = np.array([1.0, 2.0], np.float32)
    cand = Candidates.from_logits(row)
    build_chain(chain).apply(cand)
    got = Got(cand.ids, cand.logits, cand.p, None, cand.selected)
    for token, wrong in ((1, None), (0, "token")):
        memory = Memory.of(build_chain(chain))
        place = judge_sample(memory, chain, row, [got, got], token, Arithmetic(), Judged())
        assert (place and place.stage) == wrong
