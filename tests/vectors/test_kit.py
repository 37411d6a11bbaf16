"""The kit of test vectors: right samplers pass it, planted faults do not, the index is true."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.stages.own_random import OneNumber
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.reference import Candidates
from sampler_parity.vectors.kit import FLAGS, SAMPLERS, SUITES, vectors_of
from sampler_parity.vectors.written import Rows, number, write
from tests.support.command_line import cli

RUNNERS = Path(__file__).resolve().parents[2] / "vectors" / "runners"
MOST = 40  # tokens of a vector


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "kit"
    write(vectors_of(SUITES, "quick", MOST), folder)
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


def problems(kit: Path, sample: Any) -> tuple[Counter[str], dict[str, str]]:
    """Return the number of vectors that are judged, by sampler, and what is wrong, by id."""
    run, judged, wrong = runner(kit), Counter[str](), dict[str, str]()
    for name, test in (vector.values for vector in run.vectors()):
        result = sample(name, test) if "right" in test else None
        if result is not None:
            judged[name] += 1
            if problem := run.problem(test, *result):
                wrong[test["id"]] = problem
    return judged, wrong


def by_reference(name: str, test: dict[str, Any]) -> Any:
    """Apply llama.cpp's sampler to a vector."""
    ids = np.array(test["ids"], np.int32)
    logits = np.array(test["logits"], np.float32)
    cand = Candidates(
        ids, logits, np.zeros(len(ids), np.float32), "sorted" in test.get("flags", ())
    )
    parameters = dict(test["parameters"])
    if name in ("dist", "xtc"):
        parameters["seed"] = 0
    if "logit_bias" in parameters:
        parameters["logit_bias"] = [[t, float(b)] for t, b in parameters["logit_bias"]]
    (sampler,) = build_chain([{name: parameters}], n_vocab=int(ids.max()) + 1).samplers
    for token in test.get("tokens", ()):
        sampler.accept(token)
    if "uniform" in test:
        vars(sampler)["rng"] = OneNumber(test["uniform"])
    sampler.apply(cand)
    return cand.ids.tolist(), cand.logits.tolist(), cand.token


@pytest.mark.slow
def test_the_reference_passes_every_vector_and_gives_its_exact_result(kit: Path) -> None:
    judged, wrong = problems(kit, by_reference)
    assert wrong == {}
    assert {*judged} == {*SAMPLERS}
    assert sum(judged.values()) > 3000
    run = runner(kit)
    for name, test in (vector.values for vector in run.vectors()):
        ids, logits, token = by_reference(name, test)
        exact, before = test["exact"], dict(zip(test["ids"], test["logits"], strict=True))
        assert ids == exact.get("ids", test["ids"]), test["id"]
        values = run.as_float32(run.numbers(exact["logits"])) if "logits" in exact else None
        assert logits == (values or [before[i] for i in ids]), test["id"]
        assert token == exact.get("token")


@pytest.mark.slow
def test_a_small_float64_sampler_passes_and_its_faults_do_not(kit: Path) -> None:
    small = runner(kit, "small_sampler")
    judged, wrong = problems(kit, small.sample)
    assert wrong == {}
    assert {*judged} == {"dist", "greedy", "min_p", "penalties", "temp", "top_k", "top_p"}
    for fault, sampler in (("crossing", "top_p"), ("ties", "top_k"), ("once", "penalties")):
        small.FAULT = fault
        _, wrong = problems(kit, small.sample)
        assert {id.partition("/")[0] for id in wrong} == {sampler}


@pytest.mark.slow
def test_the_index_has_the_digest_of_each_file_and_a_sentence_for_each_flag(kit: Path) -> None:
    index = json.loads((kit / "index.json").read_text())
    for name, digest in index["sha256"].items():
        assert hashlib.sha256((kit / name).read_bytes()).hexdigest() == digest
    flags = set()
    for path in (kit / "vectors").glob("*.json"):
        file = json.loads(path.read_text())
        assert index["tests"][path.stem] == len(file["tests"])
        flags |= {flag for test in file["tests"] for flag in test.get("flags", ())}
    assert flags == {*FLAGS} == {*index["flags"]}


@pytest.mark.slow
def test_the_files_follow_the_schema(kit: Path) -> None:
    schema = json.loads((kit / "schema.json").read_text())
    for path in (kit / "vectors").glob("*.json"):
        assert [*breaches(json.loads(path.read_text()), schema, path.stem)] == []
    assert [*breaches({"format": 1, "sampler": "x", "tests": [{}]}, schema, "")]


def breaches(value: Any, schema: dict[str, Any], place: str) -> list[str]:
    """Return where a value breaks a schema of the words that ours uses."""
    if "anyOf" in schema:
        tried = [breaches(value, part, place) for part in schema["anyOf"]]
        return min(tried, key=len)
    if "const" in schema or "enum" in schema:
        return [] if value in schema.get("enum", [schema.get("const")]) else [place]
    kinds: dict[str, Any] = {"number": int | float, "integer": int, "string": str, "array": list}
    if not isinstance(value, kinds.get(schema["type"], dict)):
        return [place]
    if schema["type"] == "array":
        return [
            b for i, v in enumerate(value) for b in breaches(v, schema["items"], f"{place}/{i}")
        ]
    if schema["type"] != "object" or "properties" not in schema:
        return []
    known = schema["properties"]
    missing = [f"{place}: no {name}" for name in schema["required"] if name not in value]
    unknown = [f"{place}: {name}" for name in value if name not in known]
    inner = [
        b for n, v in value.items() if n in known for b in breaches(v, known[n], f"{place}/{n}")
    ]
    return missing + unknown + inner


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


def test_a_suite_without_small_cases_and_an_unknown_one_are_refused() -> None:
    with pytest.raises(InputError, match="no case has at most 0 tokens"):
        next(vectors_of(["parity/top_p"], "quick", 0))
    with pytest.raises(InputError, match="top_x"):
        next(vectors_of(["parity/top_x"], "quick", 9))


@pytest.mark.slow
def test_the_command_writes_a_kit_that_pytest_runs(tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    arguments = ("vectors", "-o", kit, "--suites", "parity/top_k", "--max-vocab", "20")
    done = cli(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(
        f"test vectors in {kit}; README.md there has the rules"
    )
    assert cli(*arguments).returncode == 2
    here = {"VECTORS": str(kit), "SAMPLER": "small_sampler", "PYTHONPATH": str(RUNNERS / "python")}
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider"]
    for fault, status in (("", 0), ("ties", 1)):
        ran = subprocess.run(
            [*command, str(RUNNERS / "python" / "run_vectors.py")],
            env=here | {"FAULT": fault}, cwd=tmp_path, capture_output=True,
        )  # fmt: skip
        assert ran.returncode == status, ran.stdout
