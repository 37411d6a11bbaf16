"""harness/bundle/machine.py: digests of our own files distinguish two trees of one version."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle import machine


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A little one of ours."""
    for name in ("reference/samplers/top_p.py", "harness/a.py", "suites/parity/top_p.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}")
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    return tmp_path


def digests() -> tuple[str, str]:
    described = machine.describe()
    return described.code, described.suites


@pytest.mark.parametrize("name", ["reference/samplers/top_p.py", "harness/a.py", "harness/new.py"])
def test_another_file_of_the_reference_or_the_harness_is_another_code(
    tree: Path, name: str
) -> None:
    code, suites = digests()
    (tree / name).write_text("p = 1")
    assert digests()[0] != code
    assert digests()[1] == suites


def test_another_suite_is_another_digest_of_suites(tree: Path) -> None:
    code, suites = digests()
    (tree / "suites/parity/top_p.toml").write_text("x = 1")
    assert digests()[0] == code
    assert digests()[1] != suites


def test_what_is_compiled_fetched_or_moved_as_a_whole_is_the_same(
    tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digests()
    for name in ("harness/__pycache__/a.cpython-311.pyc", "harness/node_modules/x/index.js"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("x")
    assert digests() == before
    moved = tmp_path_factory.mktemp("moved") / "tree"
    tree.rename(moved)
    monkeypatch.setattr(machine, "_ROOT", moved)
    assert digests() == before
