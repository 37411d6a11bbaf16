"""One class name has one meaning: the packages define it once, or it is the name of a role."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("harness", "reference", "reports", "programs", "maintenance", "scripts")

# Names that several modules share, each for one reason.
ROLES = {
    "Worker",  # every backend's module has one: harness/protocol/interface.py
    "Candidates",  # as the three below, of the template that `sampler-parity init` copies
    "Sampler",
    "Greedy",
    "Temp",
    "Stage",  # harness/correct judges a stage of a chain with intervals: reference/chain.py
    "Softmax",  # harness/correct bounds what the sampler of this name computes
    "TokenDataArray",  # llama_token_data_array twice: count_applications.py runs on ctypes alone
}


def classes(root: Path) -> dict[str, list[str]]:
    """Return the modules that define a class, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted(root.glob(f"{package}/**/*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(path.relative_to(root).as_posix())
    return found


def duplicates(root: Path) -> dict[str, list[str]]:
    """Return the names with two or more definitions."""
    return {name: paths for name, paths in classes(root).items() if len(paths) > 1}


@pytest.mark.slow
def test_a_class_name_is_defined_once_unless_it_is_a_role() -> None:
    assert {name: paths for name, paths in duplicates(ROOT).items() if name not in ROLES} == {}


@pytest.mark.slow
def test_every_role_is_needed() -> None:
    assert duplicates(ROOT).keys() >= ROLES


def test_a_second_definition_is_found(tmp_path: Path) -> None:
    for package in ("harness", "reports"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "model.py").write_text("class Cell:\n    pass\n")
    assert duplicates(tmp_path) == {"Cell": ["harness/model.py", "reports/model.py"]}
