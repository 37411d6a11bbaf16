"""CONTRIBUTING.md followed to the letter: a sampler and an engine are added to a copy of the tree.

They run there, and with any one place left out the test of completeness names it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COPIED = ("harness", "reference", "reports", "suites", "tests")

SAMPLER = {
    "reference/samplers/keep_even.py": '''"""keep_even: removes the tokens with an odd id."""

import numpy as np

from sampler_parity.reference.candidates import Candidates


class KeepEven:
    name = "keep_even"

    def apply(self, cand: Candidates) -> None:
        cand.keep(np.flatnonzero(cand.ids % 2 == 0))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "KeepEven":
        return KeepEven()
''',
    "suites/parity/keep_even.toml": """name = "keep_even keeps the tokens with an even id"
sampler = "keep_even"

[[case]]
id = "odd-ids-go"
description = "Of four tokens the first and the third stay"
why = "The position taken for the id."
chain = [{ keep_even = {} }]
logits = { values = [1.0, 2.0, 0.0, 3.0] }
expect = { ids = [0, 2] }
""",
    "harness/faults/keep_even.toml": """# keep_even, wrong in one way each.

[[fault]]
name = "keep_even/odd"
fault = "The odd ids stay."
replace = "% 2 == 0"
with = "% 2 == 1"

[[fault]]
name = "keep_even/all"
fault = "Nothing is removed."
replace = "cand.keep(np.flatnonzero(cand.ids % 2 == 0))"
with = "pass"

[[fault]]
name = "keep_even/half"
fault = "The first half stays."
replace = "np.flatnonzero(cand.ids % 2 == 0)"
with = "slice(len(cand) // 2)"
""",
    "tests/reference/test_keep_even.py": "def test_nothing() -> None: ...\n",
}
SAMPLER_ROW = {
    "from sampler_parity.reference.samplers.infill": (
        "from sampler_parity.reference.samplers.keep_even import KeepEven\n"
    ),
    '    "softmax": Row(': (
        '    "keep_even": Row(KeepEven, {}, edges={}, ranges={}, kind="filter",'
        " sizes=_CANDIDATES),\n"
    ),
}

ENGINE = {
    "harness/backends/toy.py": '''"""toy: keeps the tokens with an even id in NumPy."""

from sampler_parity.harness.backends import null
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import Candidates


class Even(null.NullInstance):
    def apply(self, stage: int | None, candidates: Candidates) -> None:
        candidates.keep(candidates.ids % 2 == 0)


class Worker(null.Worker):
    def hello(self) -> HelloReply:
        return HelloReply(name="toy", version="1", capabilities=["run"], samplers=["keep_even"])

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Even:
        if chain != [{"keep_even": {}}]:
            raise Unsupported("only keep_even")
        return Even()
''',
    "suites/toy/toy.toml": """name = "toy on its one sampler"

[[case]]
id = "one-stays"
description = "Of two tokens the first stays"
why = "An engine that does nothing."
chain = [{ keep_even = {} }]
logits = { values = [1.0, 2.0] }
expect = { ids = [0] }
""",
    "tests/backends/test_toy.py": 'NAME = "toy"\n',
}
ENGINE_ROW = {
    '    Engine(\n        "null",': (
        '    Engine("toy", "even ids", module="toy", suites=("toy", "properties"),'
        " in_make_engines=True),\n"
    ),
}

ROWS = {
    "reference/registry.py": SAMPLER_ROW,
    "harness/backends/engines.py": ENGINE_ROW,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with both added, which imports itself as sampler_parity."""
    copy = tmp_path_factory.mktemp("tree")
    skipped = shutil.ignore_patterns("node_modules", "__pycache__", "*.gguf")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=skipped)
    (copy / "golden").symlink_to(ROOT / "golden")
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "namespace").mkdir()
    (copy / "namespace" / "sampler_parity").symlink_to(copy)
    for path, text in (SAMPLER | ENGINE).items():
        (copy / path).parent.mkdir(exist_ok=True)
        (copy / path).write_text(text)
    for path, rows in ROWS.items():
        text = (copy / path).read_text()
        for before, row in rows.items():
            assert text.count(before) == 1
            text = text.replace(before, row + before)
        (copy / path).write_text(text)
    return copy


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Of the copy: its modules, its folder; of pytest no plugin, each of which is loaded first."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "namespace"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True
    )


def cli(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-m", "sampler_parity.harness.cli", *arguments)


def complete(tree: Path) -> subprocess.CompletedProcess[str]:
    """The test of completeness, in the copy."""
    options = ("-q", "--noconftest", "-p", "no:cacheprovider")
    return python(tree, "-m", "pytest", *options, "tests/project/test_complete.py")


def test_the_toys_are_where_contributing_says() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for path in (*SAMPLER, *ENGINE, *ROWS):
        assert f"`{path.replace('keep_even', 'NAME').replace('toy', 'NAME')}`" in text


@pytest.mark.nightly
def test_the_toys_run_and_a_fault_is_caught(tree: Path) -> None:
    fault = "mutant/keep_even/odd"
    backends = ("-b", "reference", "-b", "toy", "-b", fault)
    done = cli(tree, "run", "parity/keep_even", "toy", *backends, "-j", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    (bundle,) = (tree / "bundles").iterdir()
    lines = [json.loads(line) for line in (bundle / "results.jsonl").read_text().splitlines()]
    verdicts = {
        line["id"]: {name: result["verdict"] for name, result in line["backends"].items()}
        for line in lines
        if "backends" in line
    }
    right = {"reference": "identical", "toy": "identical"}
    assert verdicts["keep_even/odd-ids-go"] == right | {fault: "diverged"}
    assert verdicts["toy/one-stays"].items() >= right.items()


@pytest.mark.slow
def test_the_toys_are_complete_and_in_every_list(tree: Path) -> None:
    done = complete(tree)
    assert done.returncode == 0, done.stdout
    asked = python(tree, "-c", LISTS)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout) == {
        "random chains": True,
        "make engines": [
            *("run", "toy", "-b", "toy", "-b", "reference", "--if-available", "--require-all")
        ],
        "mutants": ["keep_even/odd", "keep_even/all", "keep_even/half"],
        "lint": True,
    }


LISTS = """
import json
from pathlib import Path
from sampler_parity.harness import lint
from sampler_parity.harness.cli.make_engines import chosen, runs
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.cli.engines import chosen, runs
from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.suite.file import expand, find_suites
chains = [case for path in find_suites(["parity/chains"]) for case in expand(path, "quick")]
print(json.dumps({
    "random chains": any("keep_even" in case.samplers for case in chains),
    "make engines": runs(chosen(["toy"])[0], Path("b"))[0][:-2],
    "mutants": [name for name in MUTANTS if name.startswith("keep_even/")],
    "lint": "keep_even" in lint.FILTERS,
}))
"""


@pytest.mark.parametrize(
    "left_out",
    [
        {"reference/samplers/keep_even.py": "samplers.keep_even"},
        {
            "reference/registry.py": "sampler keep_even: no row",
            "harness/backends/engines.py": "harness/backends/toy.py: no row",
        },
        {
            "suites/parity/keep_even.toml": "sampler keep_even: no suite",
            "harness/faults/keep_even.toml": "sampler keep_even: 0 of 3 mutants",
            "tests/reference/test_keep_even.py": "sampler keep_even: no test",
            "harness/backends/toy.py": "engine toy: no adapter harness/backends/toy.py",
            "suites/toy/toy.toml": "engine toy: no suite toy",
            "tests/backends/test_toy.py": "engine toy: no test",
        },
    ],
    ids=["the sampler", "rows", "files"],
)
@pytest.mark.slow
def test_a_place_left_out_is_named(tree: Path, left_out: dict[str, str]) -> None:
    written = {path: (tree / path).read_text() for path in left_out}
    for path in left_out:
        if path in ROWS:
            (tree / path).write_text((ROOT / path).read_text())
        else:
            (tree / path).unlink()
    try:
        done = complete(tree)
    finally:
        for path, text in written.items():
            (tree / path).write_text(text)
    assert done.returncode != 0
    assert [said for said in left_out.values() if said not in done.stdout] == []
