"""add-a-sampler.md and add-an-engine.md followed step by step, in a copy of the tree.

The tests pass there, and both run. If one place is left out, the test of completeness names it.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.toys import (
    ENGINE,
    REGISTRY,
    ROOT,
    SAMPLER,
    SAMPLER_SHOWN,
    add_toys,
    copied,
    python,
)

QUICK = ("-m", "not slow and not nightly", "-p", "no:cacheprovider")
# How many lines the core may have is no matter of the toys.
BUDGET = "tests/project/test_size.py::test_the_core_is_within_its_limit"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with both added, which imports itself as sampler_parity."""
    copy = copied(tmp_path_factory.mktemp("tree"))
    add_toys(copy)
    return copy


def cli(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-m", "sampler_parity.harness.cli", *arguments)


def failures(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the failures of a run of pytest; its output if it did not finish."""
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", done.stdout))


@pytest.mark.parametrize(
    ("page", "places"),
    [("add-a-sampler", [*SAMPLER, *SAMPLER_SHOWN, REGISTRY]), ("add-an-engine", [*ENGINE])],
)
def test_the_toys_are_where_the_page_says(page: str, places: list[str]) -> None:
    text = (ROOT / "docs" / "background" / f"{page}.md").read_text(encoding="utf-8")
    for path in places:
        assert f"`{path.replace('top_even', 'NAME').replace('toy', 'NAME')}`" in text


@pytest.mark.nightly
def test_all_quick_tests_pass(tree: Path) -> None:
    assert python(tree, "-m", "scripts.reference").returncode == 0
    options = ("-n", "2", "--dist", "worksteal", "--deselect", BUDGET, *QUICK)
    done = python(tree, "-m", "pytest", *options)
    assert failures(done) == set(), done.stdout


@pytest.mark.nightly
def test_the_toys_run_and_their_faults_are_caught(tree: Path) -> None:
    fault = "mutant/top_even/odd"
    backends = ("-b", "reference", "-b", "toy", "-b", fault)
    done = cli(tree, "run", "parity/top_even", "toy", *backends, "-j", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    (bundle,) = (tree / "bundles").iterdir()
    lines = [json.loads(line) for line in (bundle / "results.jsonl").read_text().splitlines()]
    verdicts = {
        line["id"]: {name: result["verdict"] for name, result in line["backends"].items()}
        for line in lines
        if "backends" in line
    }
    right = {"reference": "identical", "toy": "identical"}
    caught = {"reference": "identical", fault: "diverged"}
    assert verdicts["top_even/odd-ids-go"].items() >= caught.items()
    assert verdicts["toy/eight-steps"].items() >= right.items()
    done = cli(tree, "selftest", "top_even/", "toy_draw/", "engine/toy")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_toys_are_in_every_list(tree: Path) -> None:
    asked = python(tree, "-c", ASKED)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout) == {
        "random chains": True,
        "make engines": [
            *("run", "toy", "-b", "toy", "-b", "reference", "--if-available", "--require-all")
        ],
        "mutants": ["top_even/odd", "top_even/all", "top_even/half"],
        "lint": True,
    }


ASKED = """
import json
from pathlib import Path
from sampler_parity.harness import lint
from scripts.make_engines import chosen, runs
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.suite.file import expand, find_suites
chains = [case for path in find_suites(["parity/chains"]) for case in expand(path, "quick")]
print(json.dumps({
    "random chains": any("top_even" in case.samplers for case in chains),
    "make engines": runs(chosen(["toy"])[0], Path("b"))[0][:-2],
    "mutants": [name for name in MUTANTS if name.startswith("top_even/")],
    "lint": "top_even" in lint.FILTERS,
}))
"""

# For each place that is left out, the text that names it.
NAMED = {
    "reference/samplers/top_even.py": "samplers.top_even",
    REGISTRY: "sampler top_even: no row in reference/registry.py",
    "suites/parity/top_even.toml": "sampler top_even: no suite suites/parity/top_even.toml",
    "harness/faults/top_even.toml": "top_even: 0 of 3 faults in harness/faults/top_even.toml",
    "tests/reference/test_top_even.py": "top_even: no test tests/reference/test_top_even.py",
    "docs/reference/samplers/top_even.md": "no page docs/reference/samplers/top_even.md",
    "engines/toy/engine.toml": "engine toy: no engines/toy/engine.toml",
    "engines/toy/__init__.py": "engine toy: no engines/toy/__init__.py",
    "engines/toy/worker.py": "engine toy: no adapter engines/toy/worker.py",
    "engines/toy/model.py": "engine toy: no engines/toy/model.py",
    "engines/toy/worker_faults.toml": "engine toy: no engines/toy/worker_faults.toml",
    "engines/toy/model_faults.toml": "engine toy: no engines/toy/model_faults.toml",
    "engines/toy/suites/toy/toy.toml": "engine toy: no suite toy: engines/toy/suites/toy",
    "engines/toy/suites/draws/toy.toml": "no suite draws/toy: engines/toy/suites/draws/toy",
    "engines/toy/README.md": "engine toy: no page engines/toy/README.md",
    "engines/toy/test_toy.py": "engine toy: no test engines/toy/test_toy.py",
}
# Each hides others, or is hidden by them: its absence is looked at alone.
ALONE = [
    "reference/samplers/top_even.py",
    REGISTRY,
    "harness/faults/top_even.toml",
    "engines/toy/engine.toml",
]
OTHERS = [path for path in NAMED if path not in ALONE]


def not_named(tree: Path, places: list[str]) -> list[str]:
    """Return the omitted places that the test of completeness does not report."""
    texts = {path: (tree / path).read_text(encoding="utf-8") for path in places}
    for path in places:
        if path == REGISTRY:
            (tree / path).write_bytes((ROOT / path).read_bytes())
        else:
            (tree / path).unlink()
    try:
        options = ("-p", "no:xdist", "--noconftest", "-p", "no:cacheprovider")
        done = python(tree, "-m", "pytest", *options, "tests/project/test_complete.py")
    finally:
        for path, text in texts.items():
            (tree / path).write_text(text, encoding="utf-8")
    assert done.returncode != 0
    return [NAMED[path] for path in places if NAMED[path] not in done.stdout]


@pytest.mark.slow
@pytest.mark.parametrize("places", [[path] for path in ALONE] + [OTHERS], ids=[*ALONE, "others"])
def test_places_left_out_are_named(tree: Path, places: list[str]) -> None:
    assert not_named(tree, places) == []


@pytest.mark.nightly
@pytest.mark.parametrize("place", OTHERS)
def test_a_place_left_out_alone_is_named(tree: Path, place: str) -> None:
    assert not_named(tree, [place]) == []


def test_every_place_is_left_out_once() -> None:
    assert NAMED.keys() == {*SAMPLER, *SAMPLER_SHOWN, *ENGINE, REGISTRY}
