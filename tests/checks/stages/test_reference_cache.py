"""Answers from the cache: the verdicts are the same, and no answer is to another question."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages import prepared
from sampler_parity.harness.checks.stages import reference_cache as answers
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.checks.stages.reference_cache import Answers, answering
from sampler_parity.harness.checks.stages.targets import reference_result
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.strict import like
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import platforms
from tests.support.cases import ABOUT
from tests.support.inside import last_result_of, result_of
from tests.support.tabulating import Edit, Tabulating, add, put
from tests.support.timeless import timeless

CHAIN = [{"top_k": {"k": 2}}, {"temp": {"temp": 0.5}}, {"dist": {"seed": 1}}]
ROW = {"values": [0.5, 3.0, -1.0, 2.0]}


class Counting:
    """Answers of a new file, and how often the reference ran."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept = Answers(Cache(folder / "kept.sqlite"), "")
        self.kept.is_drawn = lambda case: False  # type: ignore[method-assign]
        self.runs = 0
        monkeypatch.setattr(answers, "reference_result", self.reference_result)

    def reference_result(self, ready: Any) -> Any:
        self.runs += 1
        return reference_result(ready)


Start = Callable[..., list[InPlace]]


@pytest.fixture
def started() -> Iterator[Start]:
    """Return a function that starts a right backend and mutants, which are closed at the end."""
    with ExitStack() as stack:

        def start(*mutants: str) -> list[InPlace]:
            backends = [InPlace("right", Worker()), *map(InProcess, mutants)]
            return [stack.enter_context(closing(backend)) for backend in backends]

        yield start


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(tmp_path, monkeypatch)


def some(name: str, count: int = 30) -> list[Case]:
    cases = expand(find_suites([name])[0], "quick")
    return [case for case in cases if case.check == "stages"][:: max(1, len(cases) // count)]


def case(**changes: Any) -> Case:
    return case_from(ABOUT | {"chain": CHAIN, "logits": ROW, "steps": 3} | changes)


def ready_of(asked: Case) -> Prepared:
    assert isinstance(asked, StagesCase)
    return prepare(asked)


def verdicts_of(record: Any) -> list[str]:
    """Return the verdicts of a record without times."""
    return [got["verdict"] for got in record["backends"].values()]


def judged(case: Case, backends: list[Any]) -> Any:
    """Return the record of a case without times."""
    return timeless(execute(case, backends).model_dump())


SUITES = ("top_k", "penalties", "dist", "xtc")


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_right_and_wrong_backends_get_the_same_records_as_without_a_cache(
    suite: str, counting: Counting, started: Start
) -> None:
    wrong = [name for name in MUTANTS if name.startswith(f"{suite}/")][:4]
    backends = started(*wrong)
    cases = some(f"parity/{suite}")
    with accepting("correct" if suite == "xtc" else "identical"):
        without = [judged(case, backends) for case in cases]
        with answering(counting.kept):
            first = [judged(case, backends) for case in cases]
        counting.runs = 0
        with answering(counting.kept):
            again = [judged(case, backends) for case in cases]
    assert counting.runs == sum(
        {*verdicts_of(record)} != {"identical"} or getattr(case, "relation", None) is not None
        for case, record in zip(cases, without, strict=True)
    )
    assert first == again == without
    assert any({*verdicts_of(record)} != {"identical"} for record in without)
    assert {record["backends"]["right"]["verdict"] for record in again} == {"identical"}


def test_draws_and_tokens_alone_are_answered_too(counting: Counting, started: Start) -> None:
    backends = started("dist/words-swapped")
    cases = [case(draws=50, steps=1), case(id="b", detail="token")]
    for runs in (2, 2 + 2):  # the wrong one needs both, each time
        with answering(counting.kept):
            results = [execute(case, backends) for case in cases]
        verdicts = [[got.verdict for got in result.backends.values()] for result in results]
        assert verdicts == [["identical", "diverged"]] * 2
        assert counting.runs == runs
    with answering(counting.kept):
        assert execute(cases[0], backends[:1]).backends["right"].verdict == "identical"
    assert counting.runs == 4


@pytest.mark.parametrize(
    ("edit", "same"),
    [
        (lambda table, values: None, True),
        (put(1, 1, -1), True),
        *[(edit, False) for edit in (put(1, 1, 0), put(8, 2, 1), put(0, 2, 0), put(8, 0, 1))],
        *[(add(place), False) for place in (0, 9, 29, 53)],
    ],
)
def test_a_table_is_known_if_all_of_it_is_the_references(
    edit: Edit, same: bool, counting: Counting
) -> None:
    asked = case(logits={"values": [0.5, 3.0]})
    with answering(counting.kept):
        assert last_result_of(asked, Tabulating()).verdict == "identical"
    with closing(Tabulating(edit)) as edited:
        without = judged(asked, [edited])
        counting.runs = 0
        with answering(counting.kept):
            assert judged(asked, [edited]) == without
    assert counting.runs == (0 if same else 1)
    assert (verdicts_of(without) == ["identical"]) == same


def test_a_wrong_token_next_to_the_right_table_is_diverged(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Tabulating()
    with answering(counting.kept):
        assert result_of(case(), backend).verdict == "identical"
    answer = backend.answer

    def wrong(request: Any, timeout_s: float | None) -> Any:
        reply: Any = answer(request, timeout_s)
        return like(reply, tokens=[token ^ 1 for token in reply.tokens])

    monkeypatch.setattr(backend, "answer", wrong)
    with answering(counting.kept):
        result = last_result_of(case(), backend)
    assert (result.verdict, result.what) == ("diverged", "token")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "b"},
        {"steps": 4},
        {"history": [1]},
        {"prompt": [1]},
        {"output": [1]},
        {"detail": "token"},
        {"dtype": "bfloat16"},
        {"logits": {"values": [0.5, 3.0, -1.0, 2.5]}},
        {"logits": {"values": [0.5, 3.0, -0.0, 2.0]}},
        {"chain": [{"top_k": {"k": 3}}, *CHAIN[1:]]},
        {"chain": [*CHAIN[:1], {"temp": {"temp": "inf"}}, *CHAIN[2:]]},
        {"chain": [*CHAIN[:1], {"temp": {"temp": "-inf"}}, *CHAIN[2:]]},
        {"chain": [*CHAIN[:1], {"temp": {"temp": "nan"}}, *CHAIN[2:]]},
        {"chain": [*CHAIN[:1], {"temp": {"temp": 0.0}}, *CHAIN[2:]]},
        {"chain": [*CHAIN[:1], {"temp": {"temp": -0.0}}, *CHAIN[2:]]},
        {"chain": CHAIN[::-1]},
        {"draws": 5, "steps": 1},
    ],
    ids=str,
)
def test_another_question_has_another_key(changes: dict[str, Any]) -> None:
    keys = [answers.key_of(ready_of(case(**some))) for some in ({}, {}, changes)]
    assert keys[0] == keys[1] != keys[2]


def test_other_rows_of_the_same_name_have_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = case()
    before = answers.key_of(ready_of(asked))
    rows = [np.array([0.5, 3.0, -1.0, 2.25], np.float32)] * 3
    monkeypatch.setattr(prepared, "rows_of", lambda *_: rows)
    assert answers.key_of(ready_of(asked)) != before


def test_another_vocabulary_of_the_same_name_has_another_key(tmp_path: Path) -> None:
    ready = ready_of(case())
    keys = set()
    for content in (b"one", b"two"):
        file = tmp_path / content.decode()
        file.write_bytes(content)
        keys.add(answers.key_of(replace(ready, vocab_file=str(file))))
    assert len(keys) == 2


def test_another_platform_has_another_key() -> None:
    ready = ready_of(case())
    keys = set()
    for name in platforms.PLATFORMS:
        with platforms.on(name):
            keys.add(answers.key_of(ready))
    assert len(keys) == len(platforms.PLATFORMS)


def test_a_wrong_answer_ends_the_run_if_it_is_computed_again(
    counting: Counting, started: Start
) -> None:
    (right,) = started()
    with answering(counting.kept):
        execute(case(), [right])
    key = answers.key_of(ready_of(case()))
    value = json.loads(counting.kept.cache.get("answers", key) or b"")
    value[7] = dict.fromkeys(value[7], "0" * 32)
    counting.kept.cache.put("answers", {key: json.dumps(value).encode()})
    counting.kept.is_drawn = lambda case: True  # type: ignore[method-assign]
    with answering(counting.kept), pytest.raises(InputError, match=r"kept\.sqlite: the answer to"):
        execute(case(), [right])


def test_one_of_64_answers_is_computed_again_and_other_ones_in_another_run(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "kept.sqlite")
    drawn = [
        {i for i in range(20_000) if Answers(cache, nonce).is_drawn(f"top_k/{i}")}
        for nonce in ("2026-11-26T20:00:00", "2026-11-26T20:00:01")
    ]
    assert all(200 < len(these) < 430 for these in drawn)
    assert len(drawn[0] & drawn[1]) < 30


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"null", b'[1,"","",0,"",[1],[[]],{}]', b'[1,"","",0,"",[1],[[true]],[]]'],
)
def test_a_value_that_is_no_answer_counts_as_none(value: bytes, counting: Counting) -> None:
    ready = ready_of(case())
    counting.kept.cache.put("answers", {answers.key_of(ready): value})
    assert counting.kept.of(answers.key_of(ready)) is None
