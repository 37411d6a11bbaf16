"""The kit of test vectors: right samplers pass it, planted faults do not, the index is true."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.stages.own_random import RANDOM, OneNumber
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain, replaced
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.reference import Candidates
from sampler_parity.vectors.accepted import STEERING
from sampler_parity.vectors.kit import FLAGS, SAMPLERS, SUITES, WITH_SCRIPTS, Vector, kit_of
from sampler_parity.vectors.written import Contents, Rows, as_json, number, write
from tests.support.command_line import cli

RUNNERS = Path(__file__).resolve().parents[2] / "vectors" / "runners"
MOST = 40  # tokens of a vector


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "kit"
    write(Contents(SUITES, "quick", MOST), folder)
    return folder


def runner(kit: Path, name: str = "run_vectors") -> Any:
    """Import the runner in Python as a user's copy."""
    os.environ["VECTORS"] = str(kit)
    path = RUNNERS / "python" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(
    kit: Path, of: Any, exact: bool = False, only: str = ""
) -> tuple[Counter[str], dict[str, str]]:
    """Return the number of tests that are judged, by sampler, and what is wrong, by id. of: has
    `sample` and `make`, as a user's module. only: the scripts of this sampler."""
    run, judged, wrong = runner(kit), Counter[str](), dict[str, str]()
    run.EXACT = exact
    for name, test in (vector.values for vector in run.read_tests("vectors")):
        known = not only and (exact or "right" in test)
        result = of.sample(name, test) if known else None
        if result is not None:
            judged[name] += 1
            if problem := run.problem(test, *result):
                wrong[test["id"]] = f"{name}: {problem}"
    for name, script in (vector.values for vector in run.read_tests("scripts")):
        if only not in ("", name):
            continue
        make = partial(of.make, name, script["parameters"], script.get("seed"))
        if make() is not None:
            judged[f"{name} with a state"] += 1
            if problem := run.script_problem(script, make):
                wrong[script["id"]] = f"{name}: {problem}"
    return judged, wrong


@dataclass
class OfReference:
    """A sampler of llama.cpp, as a user's module has it. samplers: faulty ones in their place."""

    samplers: Any = field(default_factory=lambda: ALL_SAMPLERS)
    of: Any = None

    def make(self, name: str, parameters: dict[str, Any], seed: int | None) -> "OfReference":
        given = dict(parameters) | ({"seed": seed or 0} if name in RANDOM else {})
        if "logit_bias" in given:
            given["logit_bias"] = [[t, float(b)] for t, b in given["logit_bias"]]
        n_vocab = given.pop("n_vocab", 1_000_000)
        chain = build_chain([{name: given}], n_vocab=n_vocab, samplers=self.samplers)
        return replace(self, of=chain.samplers[0])

    def sample(self, name: str, test: dict[str, Any]) -> Any:
        made = self.make(name, test["parameters"], None)
        for token in test.get("tokens", ()):
            made.of.accept(token)
        if "uniform" in test:
            made.of.rng = OneNumber(test["uniform"])
        return made.apply(test)

    def apply(self, test: dict[str, Any]) -> Any:
        logits, p = (np.array(test[name], np.float32) for name in ("logits", "p"))
        flags = test.get("flags", ())
        cand = Candidates(np.array(test["ids"], np.int32), logits, p, "sorted" in flags)
        self.of.apply(cand)
        rest = cand.p.tolist(), bool(cand.sorted)
        return cand.ids.tolist(), cand.logits.tolist(), cand.token, *rest

    def accept(self, token: int) -> None:
        self.of.accept(token)

    def reset(self) -> None:
        self.of.reset()

    def clone(self) -> "OfReference":
        twin = self.of.clone()
        twin.__class__ = type(self.of)  # a faulty sampler's clone is right otherwise
        return replace(self, of=twin)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True])
def test_the_reference_passes_every_vector_and_script(kit: Path, exact: bool) -> None:
    judged, wrong = problems(kit, OfReference(), exact)
    assert wrong == {}
    assert {*judged} == {*SAMPLERS, *(f"{name} with a state" for name in WITH_SCRIPTS)}
    assert sum(judged.values()) > 4000


@pytest.mark.slow
def test_a_small_float64_sampler_passes_and_its_faults_do_not(kit: Path) -> None:
    small = runner(kit, "small_sampler")
    judged, wrong = problems(kit, small)
    assert wrong == {}
    with_state = {"dist with a state", "penalties with a state"}
    one_call = {"dist", "greedy", "min_p", "penalties", "temp", "top_k", "top_p"}
    assert {*judged} == one_call | with_state
    for fault, sampler in (
        ("crossing", "top_p"),
        ("ties", "top_k"),
        ("once", "penalties"),
        ("reset", "penalties"),
    ):
        small.FAULT = fault
        _, wrong = problems(kit, small)
        assert {problem.partition(":")[0] for problem in wrong.values()} == {sampler}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        "penalties/reset-keeps-history",
        "dry/clone-shares-history",
        "dist/clone-starts-anew",
        "xtc/reset-keeps-stream",
        "mirostat/restarts-mu",
        "mirostat_v2/clone-restarts-mu",
        "adaptive_p/decay-ignored",
    ],
)
def test_a_script_finds_a_fault_of_state(kit: Path, fault: str) -> None:
    mutant = MUTANTS[fault]
    of_fault = OfReference(replaced(mutant.sampler, mutant.make))
    _, wrong = problems(kit, of_fault, only=mutant.sampler)
    assert wrong


@pytest.mark.nightly
def test_exact_results_find_nine_of_ten_faults_of_the_catalogue(tmp_path: Path) -> None:
    """The kit of the command's defaults. A run of an adapter finds all faults."""
    write(Contents(SUITES, "quick", 4096), tmp_path / "kit")
    run = runner(tmp_path / "kit")
    run.EXACT = True
    tests = {kind: [t.values for t in run.read_tests(kind)] for kind in ("vectors", "scripts")}
    faults = [m for m in MUTANTS.values() if m.sampler in (*SAMPLERS, *STEERING)]
    missed = []
    for fault in faults:
        of = OfReference(replaced(fault.sampler, fault.make))
        of_sampler = {
            kind: [test for name, test in rows if name == fault.sampler]
            for kind, rows in tests.items()
        }
        if not found(run, of, fault.sampler, of_sampler):
            missed.append(fault.name)
    assert len(faults) > 350
    assert len(missed) < len(faults) / 10, missed


def found(run: Any, of: OfReference, sampler: str, tests: dict[str, list[Any]]) -> bool:
    """Return whether a test fails, or the faulty sampler."""
    try:
        if any(run.problem(test, *of.sample(sampler, test)) for test in tests["vectors"]):
            return True
        for script in tests["scripts"]:
            count = script.get("instances", 1)
            made = [
                of.make(sampler, script["parameters"], script.get("seed")) for _ in range(count)
            ]
            if run.script_problem(script, made):
                return True
    except Exception:
        return True
    return False


@pytest.mark.slow
def test_the_index_has_the_digest_of_each_file_and_a_sentence_for_each_flag(kit: Path) -> None:
    index = json.loads((kit / "index.json").read_text())
    for name, digest in index["sha256"].items():
        assert hashlib.sha256((kit / name).read_bytes()).hexdigest() == digest
    flags = set()
    for path in kit.glob("*/*.json"):
        tests = json.loads(path.read_text())["tests"]
        kind = "tests" if path.parent.name == "vectors" else "scripts"
        assert index[kind][path.stem] == len(tests)
        calls = [call for test in tests for call in test.get("calls", [test])]
        flags |= {flag for call in calls for flag in call.get("flags", ())}
    assert flags == {*FLAGS} == {*index["flags"]}


@pytest.mark.slow
def test_the_files_follow_the_schema(kit: Path) -> None:
    schema = json.loads((kit / "schema.json").read_text())
    for path in kit.glob("*/*.json"):
        assert [*breaches(json.loads(path.read_text()), schema, schema, path.stem)] == []
    assert [*breaches({"format": 1, "sampler": "x", "tests": [{}]}, schema, schema, "")]


def breaches(value: Any, schema: Any, root: Any, place: str) -> list[str]:
    """Return where a value breaks a schema of the words that ours uses."""
    if "$ref" in schema:
        return breaches(value, root["$defs"][Path(schema["$ref"]).name], root, place)
    if "anyOf" in schema:
        tried = [breaches(value, part, root, place) for part in schema["anyOf"]]
        return min(tried, key=len)
    if "const" in schema or "enum" in schema:
        return [] if value in schema.get("enum", [schema.get("const")]) else [place]
    kinds: dict[str, Any] = {
        "number": int | float, "integer": int, "string": str, "array": list, "boolean": bool,
    }  # fmt: skip
    if not isinstance(value, kinds.get(schema["type"], dict)):
        return [place]
    if schema["type"] == "array":
        parts = [(f"{place}/{i}", part, schema["items"]) for i, part in enumerate(value)]
    elif schema["type"] == "object" and "properties" in schema:
        known = schema["properties"]
        parts = [(f"{place}/{n}", part, known[n]) for n, part in value.items() if n in known]
    else:
        return []
    inner = [breach for at, part, of in parts for breach in breaches(part, of, root, at)]
    if schema["type"] == "array":
        return inner
    missing = [f"{place}: no {name}" for name in schema["required"] if name not in value]
    return missing + [f"{place}: {name}" for name in value if name not in known] + inner


def test_long_rows_are_in_the_file_once_and_ends_are_rounded_outward() -> None:
    rows = Rows()
    row = np.linspace(0, 1, 100, dtype=np.float32)
    assert rows.of(row) == rows.of(row.copy()) == {"at": 0, "n": 100}
    ends = [0.1] * 100
    low = rows.ends(ends, -np.inf)
    high = rows.ends(ends, np.inf)
    values = np.frombuffer(bytes(rows.content), "<f4")
    assert values[low["at"]] <= 0.1 <= values[high["at"]]
    assert [number(x) for x in (np.float32(0.1), -np.inf, 3)] == [0.1, "-inf", 3]


def test_a_zero_that_becomes_negative_is_written() -> None:
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    ids = np.arange(1, dtype=np.int32)
    exact = {"ids": ids, "logits": -zero, "p": one, "sorted": False, "token": None}
    test = Vector("x/1.1", "", "temp", (), {}, ids, zero, one, (), None, exact, None)
    assert json.dumps(as_json(test, Rows())["exact"]) == '{"logits": [-0.0]}'


def test_an_exact_result_is_compared_as_float32(tmp_path: Path) -> None:
    (tmp_path / "rows.f32").touch()
    run = runner(tmp_path)
    test = {"ids": [0, 1], "logits": [2.0, 0.0], "p": [0.0, 0.0], "exact": {"logits": ["inf", 0]}}
    assert run.exact_problem(test, [0, 1], [1e39, 0.0], None) == ""
    assert run.exact_problem(test, [0, 1], [1e39, 1e-50], None) == ""
    assert run.exact_problem(test, [0, 1], [1e39, -0.0], None) == "logits differ"
    assert run.exact_problem(test, [0, 1], [float("nan"), 0.0], None) == "logits differ"


def test_a_suite_without_small_cases_and_an_unknown_one_are_refused() -> None:
    with pytest.raises(InputError, match="no case has at most 0 tokens"):
        next(kit_of(["parity/top_p"], "quick", 0))
    with pytest.raises(InputError, match="top_x"):
        next(kit_of(["parity/top_x"], "quick", 9))


@pytest.mark.slow
def test_the_command_writes_a_kit_that_pytest_runs(tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    assert cli("vectors", "-o", kit, "--suites", "parity/top_x").returncode == 2
    assert not kit.exists()
    arguments = ("vectors", "-o", kit, "--suites", "parity/top_k", "--max-vocab", "20")
    done = cli(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(f"scripts in {kit}; README.md has the rules")
    assert cli(*arguments).returncode == 2
    here = {"VECTORS": str(kit), "SAMPLER": "small_sampler", "PYTHONPATH": str(RUNNERS / "python")}
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider"]
    for changed, status in (({}, 0), ({"FAULT": "ties"}, 1), ({"EXACT": "1"}, 1)):
        ran = subprocess.run(
            [*command, str(RUNNERS / "python" / "run_vectors.py")],
            env=here | changed, cwd=tmp_path, capture_output=True,
        )  # fmt: skip
        assert ran.returncode == status, ran.stdout
