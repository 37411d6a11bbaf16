"""scripts/size.py: the lines of Python, the difference to a commit, and the limit of the core."""

from pathlib import Path

import pytest

from scripts import size
from scripts.size import LIMIT, ROOT, WHOLE, core, main, measured
from tests.support.commits import commit, git


def write(root: Path, **lines: int) -> None:
    """Write files of so many lines; `__` in a name stands for a slash."""
    for name, count in lines.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n" * count)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    write(tmp_path, reference__chain=3, harness__checks__timing__run=20, harness__errors=5)
    write(tmp_path, tests__checks__test_timing_chains=7, tests__checks__timing__test_run=2)
    write(tmp_path, engines__rwkv__worker=11, engines__rwkv__test_rwkv=4, reports__pages__a__page=1)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_the_core_and_the_repository_are_within_their_limits() -> None:
    sizes = measured(ROOT)
    assert core(sizes) <= LIMIT
    assert sum(sizes.values()) <= WHOLE


@pytest.mark.parametrize(("folder", "most"), [("docs", 91_900), ("docs/results", 10_000)])
def test_the_documentation_is_within_its_limit(folder: str, most: int) -> None:
    words = sum(len(path.read_text("utf-8").split()) for path in (ROOT / folder).rglob("*.md"))
    assert words <= most


def test_lines_are_counted_by_package_and_by_feature(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tree, []) == 0
    lines = printed(capsys)
    assert ["harness", "5"] in lines
    assert ["harness/checks", "20"] in lines
    assert ["engines", "15"] in lines
    assert ["core", "29"] in lines  # without engines and tests
    assert ["all", "53"] in lines
    assert ["check", "timing", "20", "9"] in lines
    assert ["engine", "rwkv", "11", "4"] in lines
    assert ["page", "a", "1", "0"] in lines


def test_the_difference_to_a_commit_counts_new_longer_and_removed_files(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tree, reference__chain=10, harness__run__plan=6)  # one is not added yet
    (tree / "engines/rwkv/worker.py").unlink()
    assert main(tree, ["--base", "HEAD"]) == 0
    lines = printed(capsys)
    assert ["reference", "10", "+7"] in lines
    assert ["harness/run", "6", "+6"] in lines
    assert ["engines", "4", "-11"] in lines
    assert ["core", "42", "+13"] in lines


def test_the_base_of_ci_is_where_a_branch_left_main_or_the_commit_before(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tree, "checkout", "-q", "-b", "new")
    for lines in (4, 5):
        write(tree, reference__chain=lines)
        commit(tree)
    assert main(tree, ["--base", "auto"]) == 0
    assert ["reference", "5", "+2"] in printed(capsys)
    git(tree, "branch", "-f", "main", "new")
    assert main(tree, ["--base", "auto"]) == 0
    assert ["reference", "5", "+1"] in printed(capsys)


def test_a_core_above_its_limit_fails_and_one_at_it_does_not(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(size, "LIMIT", 29)
    assert main(tree, []) == 0
    monkeypatch.setattr(size, "LIMIT", 28)
    assert main(tree, []) == 1
    last = "core: 29 lines of at most 28, 1 too many; 4 files of at most 450, 446 left\n"
    assert capsys.readouterr().out.endswith(last)
    monkeypatch.setattr(size, "LIMIT", 29)
    monkeypatch.setattr(size, "FILES", 3)
    assert main(tree, []) == 1


def test_a_base_that_git_does_not_have_is_refused_in_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tree, ["--base", "none"]) == 2
    assert capsys.readouterr().err == "git has no commit 'none': fetch it, or name another --base\n"


def test_without_git_all_but_hidden_and_installed_files_are_counted(tmp_path: Path) -> None:
    write(tmp_path, reference__a=3, engines__x__node_modules__b=4)
    write(tmp_path / ".venv", reference__a=3)
    assert measured(tmp_path) == {"reference/a.py": 3}


def test_ci_prints_the_difference_to_the_base_commit() -> None:
    assert "scripts/size.py --base auto" in (ROOT / ".ci" / "run").read_text()
    assert "run: make size BASE=auto" in (ROOT / ".github/workflows/tests.yml").read_text()
