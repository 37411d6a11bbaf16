"""add-a-sampler.md and add-an-engine.md followed step by step, in a copy of the tree.

The tests pass there, and both run. If one place is left out, the test of completeness names it.
"""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
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

# The lists that a new sampler, engine, fault or suite changes, by module; None: all its names.
LISTS: dict[str, set[str] | None] = {
    "harness.backends.engines": {"ENGINES"},
    "harness.backends.environments": {"all_environments"},
    "harness.engines.engine_file": {"engine_names"},
    "harness.engines.samplers": {"ALL_ROWS", "ALL_SAMPLERS", "engine_samplers"},
    "harness.faults": {"MUTANTS"},
    "maintenance.selftest.engine_faults": {"faults"},
    "harness.llama_cpp.signatures": {"SIGNATURES"},
    "harness.suite.ids": {"shipped"},
    "harness.suite.timings": None,
    "reference": {"SAMPLERS"},
    "reference.registry": None,
    "scripts.engines_index": None,
}

# Two tests with the mistake that this file is for: a list that is written out.
PLANTED = "tests/suite/test_planted.py"
WRITTEN_OUT = """
from sampler_parity.harness.engines.engine_file import engine_names
from sampler_parity.reference.registry import ROWS

def test_samplers() -> None:
    assert len(ROWS) == {samplers}

def test_engines() -> None:
    assert len(engine_names()) == {engines}
"""


# A file with each way in which a test may read a list, and two tests that read none.
READING = """
import pytest
from sampler_parity.reference import SAMPLERS as ours
from sampler_parity.reference.registry import ROWS

FEW = [*ours][:2]
OTHER = [1]

@pytest.fixture
def few():
    return FEW

def test_itself():
    assert ROWS

@pytest.mark.parametrize("name", FEW)
def test_by_a_table(name):
    pass

def test_by_a_fixture(few):
    pass

class TestClass:
    def test(self):
        helper()

def helper():
    return ROWS

def test_inside():
    from sampler_parity.harness.faults import MUTANTS
    assert MUTANTS

@pytest.mark.parametrize("name", OTHER)
def test_of_nothing(name):
    assert OTHER

def test_without():
    pass
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with both added, which imports itself as sampler_parity."""
    copy = copied(tmp_path_factory.mktemp("tree"))
    add_toys(copy)
    return copy


def cli(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-m", "sampler_parity.harness.cli", *arguments)


def reading_tests(path: Path) -> list[str]:
    """Return the tests of a file that use one of LISTS, themselves or by a name of their file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    reached = {*_lists_of(tree)}
    uses: dict[str, set[str]] = {}  # of each name of the file: the names in its statement
    for statement in tree.body if reached else ():
        found = [*ast.walk(statement)]
        used = {node.id for node in found if isinstance(node, ast.Name)}
        used |= {node.arg for node in found if isinstance(node, ast.arg)}  # fixtures
        defined = getattr(statement, "name", None)
        for name in [defined] if defined else used:
            uses.setdefault(name, set()).update(used)
    while more := {name for name in uses.keys() - reached if uses[name] & reached}:
        reached |= more
    names = [getattr(statement, "name", "") for statement in tree.body]
    return [name for name in names if name in reached and name.lower().startswith("test")]


def _lists_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names by which a file imports LISTS."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = LISTS.get(node.module.removeprefix("sampler_parity."), set())
            for alias in node.names:
                if names is None or alias.name in names:
                    yield alias.asname or alias.name


def readers(root: Path) -> dict[str, list[str]]:
    """Return the tests that use a list, by file."""
    files = [
        path
        for folder in ("tests", "engines")
        for path in sorted((root / folder).rglob("test_*.py"))
        if "node_modules" not in path.parts and path.name != Path(__file__).name
    ]
    found = {path.relative_to(root).as_posix(): reading_tests(path) for path in files}
    return {file: tests for file, tests in found.items() if tests}


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


@pytest.mark.slow
def test_the_files_that_once_wrote_a_list_out_are_read() -> None:
    found = readers(ROOT)
    assert {
        "tests/checks/timing/test_run.py",
        "tests/cli/test_list.py",
        "tests/reference/test_hard_input.py",
        "tests/suite/test_non_finite.py",
    } <= found.keys()
    assert len(found) < 60  # some, not all


def test_a_test_reads_a_list_by_names_of_its_file_too(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(READING, encoding="utf-8")
    read = ["test_itself", "test_by_a_table", "test_by_a_fixture", "TestClass", "test_inside"]
    assert reading_tests(path) == read


@pytest.mark.slow
def test_the_tests_that_read_a_list_pass_and_one_that_writes_it_out_does_not(tree: Path) -> None:
    """Run the tests of `readers`: those without parameters, or with a toy among their parameters.

    The others were the same in the tree itself. The test below runs all.
    """
    from sampler_parity.harness.engines.engine_file import engine_names
    from sampler_parity.reference.registry import ROWS

    text = WRITTEN_OUT.format(samplers=len(ROWS), engines=len(engine_names()))
    (tree / PLANTED).write_text(text, encoding="utf-8")
    try:
        options = ("-p", "no:xdist", "-p", "tests.support.toys", *QUICK)
        tests = [f"{file}::{name}" for file, names in readers(tree).items() for name in names]
        done = python(tree, "-m", "pytest", *options, *tests)
    finally:
        (tree / PLANTED).unlink()
    planted = {f"{PLANTED}::test_samplers", f"{PLANTED}::test_engines"}
    assert failures(done) == planted, done.stdout


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
