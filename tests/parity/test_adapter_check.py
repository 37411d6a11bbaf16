import sys

import pytest

from sampler_parity.harness.parity.adapter_check import Check, check_adapter
from sampler_parity.harness.protocol.schema import protocol_schema

WORKER = [sys.executable, "-m", "sampler_parity.harness.backends.worker"]


@pytest.mark.parametrize("name", ["reference", "llama.cpp"])
@pytest.mark.slow
def test_our_own_backends_pass_every_check(name: str) -> None:
    checks = list(check_adapter([*WORKER, name]))
    assert [c.name for c in checks if c.passed is False] == []
    assert len(checks) > 15


def test_an_adapter_that_is_no_program_fails_hello() -> None:
    (check,) = check_adapter(["/no/such/program"])
    assert (check.name, check.passed) == ("hello", False)
    assert "cannot start" in check.detail


def test_an_adapter_that_talks_garbage_fails_hello() -> None:
    (check,) = check_adapter([sys.executable, "-c", "print('hi')"])
    assert check.passed is False
    assert "not a reply: 'hi'" in check.detail


@pytest.mark.slow
def test_an_adapter_that_writes_ids_outside_the_vocabulary_is_told() -> None:
    wrong = (
        "import numpy as np\n"
        "import sampler_parity.harness.protocol.serve as w\n"
        "import sampler_parity.harness.backends.reference as r\n"
        "class W(r.Worker):\n"
        "    def result(self, c):\n"
        "        return c.ids + 1000, c.logits, c.p, c.sorted, c.selected\n"
        "import os, sys\n"
        "w.serve(W(), sys.stdout)\n"
    )
    failed = [c for c in check_adapter([sys.executable, "-c", wrong]) if c.passed is False]
    assert any("not distinct ids of the vocabulary" in c.detail for c in failed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("at=0", "a stage lies at byte 0, before out, 32"),
        ("n=5", "a stage has 5 candidates, the vocabulary 4 tokens"),
    ],
)
def test_an_adapter_that_places_a_stage_where_none_may_lie_is_told(edit: str, says: str) -> None:
    wrong = (
        "import sys\n"
        "from sampler_parity.harness.backends import reference\n"
        "from sampler_parity.harness.protocol import handlers, serve\n"
        "write = handlers._write\n"
        "def misplaced(*arguments):\n"
        "    stage, end = write(*arguments)\n"
        f"    return stage.model_copy(update=dict({edit})), end\n"
        "handlers._write = misplaced\n"
        "worker = reference.Worker()\n"
        "worker.samplers = {'top_k': worker.samplers['top_k']}\n"  # others: as slow
        "serve.serve(worker, sys.stdout)\n"
    )
    checks = {check.name: check for check in check_adapter([sys.executable, "-c", wrong])}
    assert checks["run top_k"] == Check("run top_k", False, f"crashed: {says}")


def test_schema_names_every_message() -> None:
    text = protocol_schema()
    for name in ("HelloRequest", "HelloReply", "RunRequest", "RunReply", "ErrorReply"):
        assert f'"{name}"' in text


def checks_of(samplers: list[str], result: str) -> dict[str, Check]:
    """Of the reference that claims these samplers alone, and gives back `result` of c."""
    lines = (
        "import sys",
        "from sampler_parity.harness.backends import reference",
        "from sampler_parity.harness.protocol import serve",
        "class W(reference.Worker):",
        "    def hello(self):",
        f"        return super().hello().model_copy(update={{'samplers': {samplers!r}}})",
        "    def result(self, c):",
        f"        return {result}",
        "serve.serve(W(), sys.stdout)",
    )
    checks = check_adapter([sys.executable, "-c", "\n".join(lines)])
    return {check.name: check for check in checks}


@pytest.mark.parametrize("sampler", ["grammar", "grammar_lazy_patterns", "infill", "akunu"])
@pytest.mark.slow
def test_an_adapter_of_one_sampler_is_asked_to_run_it(sampler: str) -> None:
    right = checks_of([sampler], "c.ids, c.logits, c.p, c.sorted, c.selected")
    assert right[f"run {sampler}"].passed
    wrong = checks_of([sampler], "c.ids + 1000, c.logits, c.p, c.sorted, c.selected")
    assert wrong[f"run {sampler}"].passed is False


def test_an_adapter_that_nothing_could_be_tried_on_fails() -> None:
    checks = checks_of(["grammer"], "c.ids, c.logits, c.p, c.sorted, c.selected")
    assert checks["run"].passed is False
    assert "nothing could be tried" in checks["run"].detail
