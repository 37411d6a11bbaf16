"""Toy kinds of check are added to a copy of the tree as CONTRIBUTING.md describes: a file and rows.

One has a record of its own, one that of a case. A suite with both runs; the records are in the
bundle, and the report and the gate show them.
"""

import json
from pathlib import Path

import pytest

from tests.support.toys import copied, python

KIND = '''"""Count the candidates that a sampler leaves."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.context import Ready, Terms
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Strict


class ToyResult(Result):
    kind: Literal["toy"] = "toy"
    suite: str = ""
    digests: dict[str, str] = {}
    most: int
    backends: dict[str, int]

    @property
    def ok(self) -> bool:
        return all(n <= self.most for n in self.backends.values())

    def with_crash(self, backend: str, problem: str) -> Self:
        return self


class ToyCase(GivenCase):
    check: ClassVar[str] = "toy"
    most: int


class Toys(Strict):
    id: str
    description: str
    why: str
    chain: ChainSpec
    most: int

    def items(self) -> Iterator[ToyCase]:
        logits = {"values": [1.0, 2.0, 0.0, 3.0]}
        yield ToyCase.model_validate({**self.model_dump(), "logits": logits})


def run(case: ToyCase, ready: Ready) -> ToyResult:
    made, counts = prepare(case), {}
    for backend in ready.backends:
        ran = client.run(backend, made.setting, made.rows, made.steps)
        counts[backend.name] = len(list(ran.stages)[-1][-1].ids)
    return ToyResult(id=case.id, most=case.most, backends=counts)


def died(case: ToyCase, terms: Terms, problem: str) -> ToyResult:
    return ToyResult(id=case.id, most=case.most, backends={})


class JudgedToyCase(GivenCase):
    check: ClassVar[str] = "judged_toy"
    chosen_by = ("most",)
    most: int


def judge(case: JudgedToyCase, backends: Any, artifacts: Any, releases: Any) -> CaseResult:
    def on(backend: Any) -> BackendResult:
        few = run(case, Ready([backend], None, Terms({}))).ok
        if few:
            return BackendResult(verdict="identical")
        return BackendResult(verdict="diverged", step=0, stage="top_k", what="survivors")

    return result_of_each(case, 1, releases, backends, on)
'''
ROW = """    CheckKind("toy", 0.1, noun="toys", tables=(
        SuiteTable("toy", ".toy:Toys", "candidates that a sampler leaves"),
    ), record=RecordRow(
        "toy", ".toy:ToyResult", "toy", gate=(GateRow("toy", "rules for toys", "toys"),),
    )),
    CheckKind("judged_toy", 0.1, CASE, run=".toy", case=".toy:JudgedToyCase"),
"""
SUITE = """name = "toys"

[[toy]]
id = "two-stay"
description = "top_k leaves two"
why = "One too many."
chain = [{ top_k = { k = 2 } }]
most = MOST

[[case]]
id = "two-are-judged"
description = "top_k leaves two"
why = "One too many."
chain = [{ top_k = { k = 2 } }]
logits = { values = [1.0, 2.0, 0.0] }
most = MOST
"""
POLICY = 'schema_version = 1\n[[parity]]\n[[toy]]\nresult = "*"\n'


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = copied(tmp_path_factory.mktemp("tree"))
    (copy / "harness/checks/toy.py").write_text(KIND, encoding="utf-8")
    rows = copy / "harness/checks/rows.py"
    text = rows.read_text(encoding="utf-8")
    assert text.endswith("\n)\n")
    rows.write_text(text.removesuffix(")\n") + ROW + ")\n", encoding="utf-8")
    return copy


@pytest.mark.slow
@pytest.mark.parametrize(("most", "status"), [(2, 0), (1, 1)], ids=["met", "failed"])
def test_one_file_and_one_row_make_a_kind(tree: Path, most: int, status: int) -> None:
    suite, folder = tree / f"toys{most}.toml", tree / f"b{most}"
    suite.write_text(SUITE.replace("MOST", str(most)), encoding="utf-8")
    (tree / "gate.toml").write_text(POLICY, encoding="utf-8")

    def cli(*arguments: str) -> str:
        done = python(tree, "-m", "sampler_parity.harness.cli", *arguments)
        assert done.returncode == status * (arguments[0] != "report"), done.stdout + done.stderr
        return done.stdout

    cli("run", str(suite), "-b", "reference", "-o", str(folder))
    lines = map(json.loads, (folder / "results.jsonl").read_text(encoding="utf-8").splitlines())
    by_kind = {line["kind"]: line for line in lines}
    record, case = by_kind["toy"], by_kind["case"]
    assert case["backends"]["reference"]["verdict"] == ("identical" if most == 2 else "diverged")
    assert (record["backends"], record["suite"]) == ({"reference": 2}, f"{tree.name}/toys{most}")
    cli("report", str(folder), "-o", str(tree / "report"), "-f", "json")
    index = json.loads((tree / "report/index.json").read_text(encoding="utf-8"))
    assert index["bundles"][0]["others"] == {"toy": 1}
    printed = cli("gate", str(folder), "--policy", "gate.toml")
    assert f"rule     toy   {int(most == 2)}/1 met" in printed
