"""`run logprobs`: the kinds of values, derived by hand, and an engine that is wrong in one way."""

import math
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.reported import most_likely, parted, reported, stages
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.logprobs import KINDS, LogprobsBlock, LogprobsCase, exact
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates
from sampler_parity.reference.registry import ROWS
from tests.support.applied import logs
from tests.support.cases import ABOUT
from tests.support.inside import last_result_of

DRAW: ChainSpec = [{"dist": {"seed": 1}}]
HALF: ChainSpec = [{"temp": {"temp": 0.5}}]
TWO: ChainSpec = [{"top_k": {"k": 2}}]
BIAS: ChainSpec = [{"logit_bias": {"logit_bias": [[2, math.log(4)]]}}]


def by_kind(chain: ChainSpec, row: Any, history: Any = ()) -> dict[str, Any]:
    fields: dict[str, Any] = {"modes": {"m": "raw"}, "rows": 1, "top": 1, "history": [*history]}
    logits = {"x": {"values": [float(x) for x in row]}}
    block = LogprobsBlock.model_validate(ABOUT | fields | {"logits": logits})
    (case,) = block.items({"x": chain})
    ready = prepare(case)
    return dict(zip(KINDS, map(np.exp, exact(ready, ready.rows[0])), strict=True))


def test_each_kind_has_the_values_that_are_derived_by_hand() -> None:
    """p = 4 2 1 1 of 8; the bias makes the third 4; at temperature 0.5 all are squared."""
    kinds = by_kind([*BIAS, *HALF, *TWO, *DRAW], logs(4, 2, 1, 1))
    assert kinds["raw_logits"] == pytest.approx([4, 2, 1, 1])
    assert kinds["raw"] == pytest.approx([4 / 8, 2 / 8, 1 / 8, 1 / 8])
    assert kinds["adjusted"] == pytest.approx([4 / 11, 2 / 11, 4 / 11, 1 / 11])
    assert kinds["tempered"] == pytest.approx([16 / 37, 4 / 37, 16 / 37, 1 / 37])
    assert kinds["cut_logits"] == pytest.approx([16, 0, 16, 0])
    assert kinds["cut"] == pytest.approx([16 / 37, 0, 16 / 37, 0])
    assert kinds["renormalized"] == pytest.approx([1 / 2, 0, 1 / 2, 0])


def test_a_filter_before_the_temperature_cuts_by_the_untempered_values() -> None:
    """top_p 0.6 keeps 4/8 and 2/8; behind the temperature 16/22 alone would reach it."""
    top_p: ChainSpec = [{"top_p": {"p": 0.6}}]
    before = by_kind([*top_p, *HALF, *DRAW], logs(4, 2, 1, 1))
    behind = by_kind([*HALF, *top_p, *DRAW], logs(4, 2, 1, 1))
    assert before["renormalized"] == pytest.approx([16 / 20, 4 / 20, 0, 0])
    assert behind["renormalized"] == pytest.approx([1, 0, 0, 0])
    assert before["tempered"] == pytest.approx(behind["tempered"])


def cases(suite: str = "logprobs/logprobs") -> list[LogprobsCase]:
    (path,) = find_suites([suite])
    return expand(path, "full")


def of_mode(mode: str) -> list[LogprobsCase]:
    return [case for case in cases() if case.mode == mode]


class Engine:
    """An engine in float32 that returns every kind under its name. A subclass is wrong."""

    def hello(self) -> HelloReply:
        return HelloReply(
            name="engine", version="1", capabilities=["run"], samplers=[*ROWS, *stages(KINDS)]
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> "Chain":
        return Chain(self, *parted(chain), n_vocab)

    def candidates(self, logits: Any) -> "Row":
        return Row(logits)

    def result(self, row: "Row") -> Any:
        return row.result

    def values(self, kind: str, logits: Any, adjusted: Any, tempered: Any, kept: Any) -> Any:
        """Return the values of a kind, made with softmax in float32."""
        made: dict[str, Callable[[], Any]] = {
            "raw_logits": lambda: logits,
            "raw": lambda: np.log(softmax(logits)),
            "adjusted": lambda: np.log(softmax(adjusted)),
            "tempered": lambda: np.log(softmax(tempered)),
            "cut_logits": lambda: np.where(kept, tempered, -np.inf),
            "cut": lambda: np.log(np.where(kept, softmax(tempered), 0)),
            "renormalized": lambda: np.log(softmax(np.where(kept, tempered, -np.inf))),
        }
        return made[kind]()

    def listed(self, values: Any, token: int, top: int) -> Any:
        return most_likely(values, token, top)


def softmax(row: Any) -> Any:
    weights = np.exp(row - row.max(), dtype=np.float32)
    return weights / weights.sum(dtype=np.float32)


class Row:
    def __init__(self, logits: Any) -> None:
        self.logits = np.array(logits)
        self.cand = Candidates.from_logits(self.logits)
        self.adjusted = self.logits
        self.temperature = 1.0
        self.result: Any = None


class Chain:
    def __init__(self, engine: Engine, chain: ChainSpec, mode: str, top: int, n: int) -> None:
        self.engine, self.chain, self.mode, self.top = engine, chain, mode, top
        self.samplers = build_chain(chain, n_vocab=n).samplers

    def apply(self, stage: int | None, row: Row) -> None:
        assert stage is not None
        if stage == len(self.chain):
            self.report(row)
            return
        ((name, given),) = self.chain[stage].items()
        self.samplers[stage].apply(row.cand)
        if name in ("penalties", "logit_bias"):
            row.adjusted = self.by_id(row)
        row.temperature *= given.get("temp", 1)
        ids, logits, p = row.cand.ids, row.cand.logits, row.cand.p
        at: Any = np.flatnonzero(ids == row.cand.token) if row.cand.token is not None else []
        row.result = ids, logits, p, None, int(at[0]) if len(at) else -1

    def by_id(self, row: Row) -> Any:
        values = np.full(len(row.logits), -np.inf, np.float32)
        values[row.cand.ids] = row.cand.logits
        return values

    def report(self, row: Row) -> None:
        with np.errstate(divide="ignore"):
            kept = self.by_id(row) > -np.inf
            tempered = row.adjusted / np.float32(row.temperature)
            values = self.engine.values(self.mode, row.logits, row.adjusted, tempered, kept)
        token = row.cand.token
        assert token is not None
        row.result = self.engine.listed(np.float32(values), token, self.top)

    def accept(self, token: int) -> None:
        for sampler in self.samplers:
            sampler.accept(token)

    def reset(self) -> None:
        raise NotImplementedError

    def clone(self) -> "Chain":
        raise NotImplementedError


def verdicts(engine: Engine, asked: list[Any]) -> dict[str, str]:
    """Return the detail of each case that fails."""
    with closing(InPlace("it", engine)) as backend:
        results = {case.id: execute(case, [backend]) for case in asked}
    return {name: of.backends["it"].detail for name, of in results.items() if not of.ok}


@pytest.mark.slow
def test_an_engine_in_float32_with_every_kind_under_its_name_passes() -> None:
    assert verdicts(Engine(), cases()) == {}
    assert last_result_of(cases()[0], InPlace("it", Engine())).verdict == "correct"


class As(Engine):
    """An engine that returns another kind than it is asked for."""

    def __init__(self, asked: str, given: str) -> None:
        self.asked, self.given = asked, given

    def values(self, kind: str, *of: Any) -> Any:
        return super().values(self.given if kind == self.asked else kind, *of)


@pytest.mark.slow
@pytest.mark.parametrize("given", KINDS)
@pytest.mark.parametrize("asked", KINDS)
def test_any_kind_in_the_place_of_another_is_caught_and_named(asked: str, given: str) -> None:
    wrong = verdicts(As(asked, given), of_mode(asked))
    assert bool(wrong) == (asked != given)
    named = [f"{asked} is declared, the values are {given}" in detail for detail in wrong.values()]
    assert any(named) == (asked != given)


Change = Callable[[Any, Any, Any, Any, Any], Any]


class Listed(Engine):
    """An engine whose list is changed behind its last stage."""

    last: Any = None

    def __init__(self, change: Change) -> None:
        self.change = change

    def listed(self, values: Any, token: int, top: int) -> Any:
        ids, got, p, *rest = super().listed(values, token, top)
        before, self.last = self.last, values
        return self.change(ids, got, p, values, values if before is None else before), rest

    def result(self, row: Row) -> Any:
        return (*row.result[0], *row.result[1]) if len(row.result) == 2 else row.result


def least_likely(ids: Any, got: Any, p: Any, values: Any, before: Any) -> Any:
    ids = np.r_[ids[0], np.argsort(values)[: len(ids) - 1]].astype(np.int32)
    return ids, values[ids], p


def by_id(ids: Any, got: Any, p: Any, values: Any, before: Any) -> Any:
    ids = np.r_[ids[0], np.sort(ids[1:])]
    return ids, values[ids], p


UNKNOWN, UNLIKELY = "the values are of no known kind", "not the 5 most likely tokens"
FAULTS: dict[str, tuple[Change, str]] = {
    "base two": (lambda ids, got, p, *_: (ids, got / np.float32(math.log(2)), p), UNKNOWN),
    "the neighbour's row": (
        lambda ids, got, p, values, before: (
            ids, (before if len(before) == len(values) else values)[ids], p,
        ),
        "the values are {} of row",
    ),
    "the neighbour's token": (
        lambda ids, got, p, values, _: (ids, values[(ids + 1) % len(values)], p), UNKNOWN,
    ),
    "the first of the list": (
        lambda ids, got, p, *_: (np.r_[ids[1], ids[1:]], np.r_[got[1], got[1:]], p), "was drawn",
    ),
    "one fewer": (lambda ids, got, p, *_: (ids[:-1], got[:-1], p[:-1]), UNLIKELY),
    "the least likely": (least_likely, UNLIKELY),
    "by id": (by_id, f"{UNLIKELY} in their order"),
    "one twice": (
        lambda ids, got, p, *_: (np.r_[ids[:-1], ids[-2]], np.r_[got[:-1], got[-2]], p), UNLIKELY,
    ),
    "rounded": (lambda ids, got, p, *_: (ids, np.round(got, 4), p), UNKNOWN),
    "probabilities": (lambda ids, got, p, *_: (ids, np.exp(got), p), UNKNOWN),
    "nothing": (lambda ids, got, p, *_: (ids[:0], got[:0], p[:0]), "lists tokens [], but"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("change", "message"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("mode", ["raw", "renormalized"])
def test_a_list_that_is_wrong_is_caught_in_a_raw_and_in_a_processed_mode(
    change: Change, message: str, mode: str
) -> None:
    wrong = verdicts(Listed(change), of_mode(mode))
    assert any(message.format(mode) in detail for detail in wrong.values())


def test_a_finite_value_of_a_removed_token_is_caught() -> None:
    """-inf is the least float32, as SGLang clamps it."""
    least = np.finfo(np.float32).min
    clamped = Listed(lambda ids, got, p, *_: (ids, np.maximum(got, least), p))
    assert verdicts(clamped, of_mode("renormalized"))
    assert not verdicts(clamped, of_mode("raw"))


class Ranked(Engine):
    """An engine with ranks; last: the place among equal ones. off: what is added."""

    def __init__(self, last: bool, off: int = 0) -> None:
        self.last, self.off = last, off

    def listed(self, values: Any, token: int, top: int) -> Any:
        ids, got, *_ = super().listed(values, token, top)
        above = (values >= values[token]).sum() if self.last else (values > values[token]).sum() + 1
        return reported(ids, got, float(above + self.off))


def ranked(rank: str) -> list[Case]:
    fields = {"modes": {"raw": "raw"}, "rank": rank, "rows": 8, "top": 3}
    logits = {"ties": {"values": [1, 1, 0.5, 1, 0.5, -3]}}
    block = LogprobsBlock.model_validate(ABOUT | fields | {"logits": logits})
    return [*block.items({"plain": DRAW})]


@pytest.mark.parametrize("rank", ["first", "last"])
def test_the_rank_of_a_token_is_the_declared_place_among_equal_ones(rank: str) -> None:
    assert not verdicts(Ranked(rank == "last"), ranked(rank))
    assert "the rank of token" in str(verdicts(Ranked(rank != "last"), ranked(rank)))
    assert not verdicts(Ranked(rank == "last", 1), ranked(""))


@pytest.mark.parametrize("off", [-1, 1])
@pytest.mark.parametrize("rank", ["first", "last"])
def test_a_rank_that_is_off_by_one_is_caught(rank: str, off: int) -> None:
    assert "the rank of token" in str(verdicts(Ranked(rank == "last", off), ranked(rank)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "modes"),
    [
        ("vllm_logprobs", 4), ("vllm_logprobs_ties", 4), ("vllm_gpu_logprobs", 4), ("logprobs", 7),
        ("sglang_logprobs", 2), ("mlx_lm_logprobs", 1), ("transformers_logprobs", 4),
    ],
)  # fmt: skip
def test_no_logit_of_a_suite_is_near_a_cut(suite: str, modes: int) -> None:
    """The tokens that a chain keeps are the same with logits that differ in the last bits."""
    asked = cases(f"logprobs/{suite}")
    assert len({case.mode for case in asked}) == modes
    rng = np.random.default_rng(0)
    for case in asked:
        ready = prepare(case)
        for row in ready.rows:
            near = row + (rng.normal(0, 1e-4, len(row)) * ("ties" not in suite)).astype(np.float32)
            kept, other = (exact(ready, one)[KINDS.index("cut")] > -np.inf for one in (row, near))
            assert kept.tolist() == other.tolist(), case.id
