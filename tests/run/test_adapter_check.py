"""adapter check: the part of the protocol that an adapter does not support."""

import sys
from contextlib import closing
from typing import Any

import pytest

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.protocol import arithmetic, sampling
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.messages import HelloReply, StageResult
from sampler_parity.harness.protocol.server import in_version
from sampler_parity.harness.run.adapter_check import ProtocolCheck, check, check_adapter
from tests.support import many_adapter
from tests.support.inside import Inside, claiming

COMMAND = [sys.executable, "-m", "sampler_parity.harness.backends.worker"]


@pytest.mark.parametrize("name", ["reference", "llama.cpp"])
@pytest.mark.slow
def test_our_own_backends_pass_every_check(name: str) -> None:
    checks = list(check_adapter([*COMMAND, name]))
    assert [c.name for c in checks if c.passed is False] == []
    assert len(checks) > 15


@pytest.mark.parametrize(("dtype", "read_as"), [("bfloat16", "float16"), ("float16", "bfloat16")])
def test_rows_read_as_the_other_format_are_found(
    dtype: Dtype, read_as: Dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    def misread(bits: Any, of: Dtype) -> Any:
        return arithmetic.widened(bits, read_as if of == dtype else of)

    monkeypatch.setattr(sampling, "widened", misread)
    checks = checks_of(Claims(["greedy"]))
    assert checks[f"rows of {read_as}"].passed
    assert checks[f"rows of {dtype}"].passed is False
    assert "of the same values [[0.5, 3.0, -1.0]" in checks[f"rows of {dtype}"].detail


def test_an_adapter_that_is_no_program_fails_hello() -> None:
    (check,) = check_adapter(["/no/such/program"])
    assert (check.name, check.passed) == ("hello", False)
    assert "cannot start" in check.detail


def test_an_adapter_that_talks_garbage_fails_hello() -> None:
    (check,) = check_adapter([sys.executable, "-c", "print('hi')"])
    assert check.passed is False
    assert "'hi'" in check.detail


SILENT = """
import json, sys, time
for line in sys.stdin:
    if '"hello"' not in line:
        time.sleep(600)
    said = {"name": "s", "version": "1", "capabilities": ["run"], "samplers": ["greedy", "temp"]}
    print(json.dumps({"ok": True} | said), flush=True)
"""


def test_a_silent_adapter_is_asked_twice() -> None:
    checks = [*check_adapter([sys.executable, "-c", SILENT], 1)]
    assert [made.name for made in checks if not made.passed] == [
        "run greedy",
        "run temp",
        "other parts",
    ]
    assert "no reply to run greedy and run temp" in checks[-1].detail
    (made,) = check_adapter([sys.executable, "-c", "input(); import time; time.sleep(60)"], 0.3)
    assert (made.name, made.passed, made.detail) == ("hello", False, "no reply within 0.3 s")


class Claims(Worker):
    """The reference, which claims only these samplers; its ids are shifted by this number."""

    def __init__(self, samplers: list[str], moved: int = 0) -> None:
        super().__init__()
        self.claimed, self.moved = samplers, moved

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"samplers": self.claimed})

    def result(self, cand: Any) -> Any:
        ids, *others = super().result(cand)
        return ids + self.moved, *others


def checks_of(worker: Worker, version: int = 2) -> dict[str, ProtocolCheck]:
    with closing(Inside(worker)) as backend:
        backend.hello = lambda: in_version(worker.hello(), version)  # type: ignore[method-assign]
        return {made.name: made for made in check(backend)}


@pytest.mark.parametrize("sampler", ["grammar", "grammar_lazy_patterns", "infill", "akunu"])
def test_an_adapter_of_one_sampler_is_asked_to_run_it(sampler: str) -> None:
    assert checks_of(Claims([sampler]))[f"run {sampler}"].passed
    wrong = checks_of(Claims([sampler], moved=1000))[f"run {sampler}"]
    assert wrong.passed is False
    assert "not distinct ids of the vocabulary" in wrong.detail


class RefusesPrompts(Claims):
    """Claims `origin`, and has no prompt."""

    def build(self, *arguments: Any) -> Any:
        instance = super().build(*arguments)

        def refuse(token: int) -> None:
            raise Unsupported(f"no prompt, {token} neither")

        instance.accept_prompt = refuse  # type: ignore[method-assign]
        return instance


@pytest.mark.parametrize(
    ("worker", "check"),
    [
        (Claims(["top_k", "openai_penalties"]), (True, "openai_penalties")),
        (RefusesPrompts(["vllm_penalties"]), (False, "unsupported: no prompt, 1 neither")),
        (
            claiming(Claims(["vllm_penalties"]), capabilities=["run"]),
            (None, "vllm_penalties without `origin`: cases with a prompt are skipped"),
        ),
    ],
    ids=["told", "refuses", "does not claim it"],
)
def test_a_prompt_is_sent_to_an_adapter_that_claims_to_know_one(
    worker: Worker, check: tuple[bool | None, str]
) -> None:
    made = checks_of(worker)["run with a prompt"]
    assert (made.passed, made.detail) == check
    assert "run with a prompt" not in checks_of(Claims(["top_k"]))


def test_an_adapter_that_nothing_could_be_tried_on_fails() -> None:
    checks = checks_of(Claims(["grammer"]))
    assert checks["run"].passed is False
    assert "nothing could be tried" in checks["run"].detail


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"at": 0}, "a stage lies at byte 0, before out, 32"),
        ({"n": 5}, "a stage has 5 candidates, the vocabulary 4 tokens"),
    ],
)
def test_an_adapter_that_places_a_stage_where_none_may_lie_is_reported(
    edit: dict[str, int], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = sampling.Sampling._add

    def misplaced(self: sampling.Sampling, left: list[int], results: list[StageResult]) -> None:
        add(self, left, results)
        results[-1] = results[-1].model_copy(update=edit)

    monkeypatch.setattr(sampling.Sampling, "_add", misplaced)
    made = checks_of(Claims(["top_k"]))["run top_k"]
    assert made == ProtocolCheck("run top_k", False, f"crashed: {says}")


class OneForAll(Worker):
    """Draws for all rows of a batch from one generator."""

    serving = MUTANTS["batch/one-generator"].make


@pytest.mark.slow
def test_an_adapter_whose_rows_change_each_other_is_reported_with_step_and_row() -> None:
    assert checks_of(Worker())["batch"].passed
    wrong = checks_of(OneForAll())["batch"]
    assert wrong.passed is False
    assert wrong.detail.startswith("step 2, row 1 of 3: in the other order this row selects token")


def test_an_adapter_of_version_1_is_not_asked_for_a_batch() -> None:
    assert checks_of(Worker(), version=1)["batch"] == ProtocolCheck("batch", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ([], ""),
        (["table"], ""),
        (["swaps"], "run 1 of 7 differs from the same run alone"),
        (["misplaces"], "run 1 of 7 differs from the same run alone"),
        (["drops"], "crashed: 6 replies to 7 runs"),
        (["refuses-many"], "unsupported: not so many"),
        (["dies-of-many"], "crashed: exit status 4"),
    ],
    ids=str,
)
def test_what_claims_many_is_asked_for_many(faults: list[str], says: str) -> None:
    words = [sys.executable, "-I", "-S", many_adapter.__file__, *faults]
    (made,) = [check for check in check_adapter(words) if check.name == "many"]
    assert (made.passed, made.detail) == (not says, says)
    assert "many" not in checks_of(Worker())
