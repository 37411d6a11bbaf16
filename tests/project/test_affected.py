"""scripts/affected.toml covers the tree and the Makefile; scripts/affected.py lists and runs."""

import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.affected import Table, main, matches, rules, targets_of
from scripts.size import ROOT
from tests.support.commits import commit, git
from tests.support.import_graph import PACKAGES

FOLDERS = (*PACKAGES, "engines", "suites", "golden", "studies", "scripts", "tests", "examples")


def table() -> Table:
    return tomllib.loads((ROOT / "scripts/affected.toml").read_text(encoding="utf-8"))


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if done.returncode:
        pytest.skip("not in a checkout")
    return done.stdout.split("\0")[:-1]


def text_of(name: str) -> str | None:
    file = ROOT / name
    return file.read_text(encoding="utf-8") if file.is_file() else None


def has(row: Table, file: str) -> bool:
    return matches(file, row["paths"]) and not matches(file, row.get("without", ()))


def problems(found: Table, made: Iterable[str], files: list[str]) -> list[str]:
    """Return a line for each target, row, glob and file that breaks a rule of the table."""
    slow = {**found["measured"], **found["estimated"]}
    made, known, rows = {*made}, {*slow, *found["quick"]}, found["row"]
    asked = {text.split()[0] for row in rows for text in row["targets"]}
    globs = [glob for row in rows for glob in (*row["paths"], *row.get("without", ()))]
    whole = [row for row in rows if "text" not in row]
    sources = [file for file in files if "/" not in file or file.split("/")[0] in FOLDERS]
    return [
        *(f"{name}: a target that is in no row" for name in made - asked - {*found["quick"]}),
        *(f"{name}: a target without its minutes" for name in asked - {*slow}),
        *(f"{name}: no such target of make" for name in known - made),
        *(f"{name}: quick, and in a row" for name in asked & {*found["quick"]}),
        *(f"{row['paths'][0]}: no reason" for row in rows if not row["why"].strip()),
        *(f"{glob}: fits no file" for glob in globs if not any(matches(f, [glob]) for f in files)),
        *(f"{file}: in no row" for file in sources if not any(has(row, file) for row in whole)),
    ]


def test_every_target_file_and_glob_has_its_row() -> None:
    assert problems(table(), rules(text_of), tracked()) == []


def test_what_the_table_lacks_is_named() -> None:
    found, made, files = table(), {*rules(text_of)}, tracked()
    assert problems(found, made | {"slower"}, files) == ["slower: a target that is in no row"]
    assert problems(found, made, [*files, "harness/new/a.py"]) == ["harness/new/a.py: in no row"]
    assert problems(found, made - {"drift"}, files) == ["drift: no such target of make"]
    row = {"why": "", "paths": ["harness/old/*"], "targets": ["drifts"]}
    assert problems(found | {"row": [*found["row"], row]}, made, files) == [
        "drifts: a target without its minutes",
        "harness/old/*: no reason",
        "harness/old/*: fits no file",
    ]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("harness/llama_cpp/native/stages.cpp", "drift"),
        ("harness/checks/stages/blocks/pairwise.py", "platforms"),
        ("harness/llama_cpp/platforms/worker.py", "portable"),
        ("harness/protocol/process.py", "coverage"),
        ("suites/parity/pairs.toml", "native-mutants"),
    ],
)
def test_a_change_that_once_broke_a_target_asks_for_it(path: str, target: str) -> None:
    assert target in {*targets_of(table(), ROOT, path)}


def test_make_runs_targets_only_if_told_to() -> None:
    def asked(*words: str) -> list[str]:
        command = ["make", "--no-print-directory", "-n", "affected", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        return done.stdout.replace("\\\n", "").split()[3:]

    assert asked() == []  # make profile has a RUN of its own, which ends with 1
    assert asked("RUN=1") == ["--run"]
    assert asked("RUN=0") == asked("RUN=") == []
    assert asked("BASE=main", "RUN=1") == ["--base", "main", "--run"]


TABLE = """
quick = ["setup"]
measured = { long = 9, short = 1.5 }
estimated = { engines = 30, both = 20 }
engines = { other = 1, slow = 5 }
inside = { both = ["long"] }
row = [
    { why = "-", paths = ["a/**"], targets = ["long", "short"] },
    { why = "-", paths = ["b/*"], without = ["b/x"], targets = ["both"], text = "^night" },
    { why = "-", paths = ["a/short.py"], targets = ["short"] },
    { why = "-", paths = ["engines/*/*", "suites/*/*"], targets = ["engines own"] },
    { why = "-", paths = ["all"], targets = ["engines"] },
]
"""
MAKEFILE = "include more.mk\nsetup:\n\ttouch $@\nshort:\n\ttest -z '$(RUN)$(BASE)'\n"
MORE = "WORD = a\n\nlong:\n\techo $(WORD)\n\t@false\nengines both:\n\techo '$(ENGINES)'\n"
NOTHING = "No slow target covers the"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with two commits on main."""
    files = {"scripts/affected.toml": TABLE, "Makefile": MAKEFILE, "more.mk": MORE, "a/old": ""}
    files["engines/one/engine.toml"] = (
        'backend = [{ name = "one/fast", suites = ["parity"], in_make_engines = true }]'
    )
    files["engines/two/engine.toml"] = (
        'backend = [{ name = "slow", suites = ["x"], draws = ["d/e"], in_make_engines = true },'
        ' { name = "left", suites = ["d"] }]'
    )
    git_files(tmp_path, **files)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    git_files(tmp_path, c="1")
    commit(tmp_path)
    return tmp_path


def git_files(root: Path, **contents: str) -> None:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def printed(root: Path, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    status = main(root, [*words])
    return status, [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]


def since_head(root: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    return printed(root, capfd, "--base", "HEAD")[1]


def test_committed_changed_and_new_files_ask_for_targets(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert printed(tree, capfd) == (0, [f"{NOTHING} 1 paths that differ from HEAD~1."])
    git(tree, "checkout", "-q", "-b", "mine")
    git_files(tree, **{"a/committed": "1"})
    commit(tree)
    git_files(tree, **{"a/old": "1"})
    three = "make short 1.5 min a/committed and 2 more", "make long 9 min a/committed and 2 more"
    two = "make short 1.5 min a/old and 1 more", "make long 9 min a/old and 1 more"
    end = "10.5 minutes on two cores; ~ is an estimate."
    git_files(tree, **{"a/short.py": "1"})
    assert printed(tree, capfd) == (0, [*three, end])
    assert printed(tree, capfd, "--base", "HEAD") == (0, [*two, end])


def test_a_target_that_another_runs_is_left_out(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    git_files(tree, **{"a/old": "1", "b/x": "night", "b/y": "by night", "b/z": "day"})
    assert since_head(tree, capfd)[1] == "make long 9 min a/old"
    git_files(tree, **{"b/y": "day\nnight"})
    assert since_head(tree, capfd)[:-1] == [
        "make short 1.5 min a/old",
        "make both ~20 min b/y",
    ]


def test_engines_are_named(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    git_files(tree, **{"suites/parity/p": "1", "suites/d/f.toml": "1", "suites/other/x": "1"})
    line = 'make engines ENGINES="one/fast" ~1 min suites/parity/p'
    assert since_head(tree, capfd)[0] == line
    git_files(tree, **{"suites/d/e.toml": "1"})
    line = 'make engines ENGINES="one/fast slow" ~6 min suites/d/e.toml and 1 more'
    assert since_head(tree, capfd)[0] == line
    git_files(tree, **{"all": "1", "engines/two/worker.py": "1"})
    line = "make engines ~30 min all and 3 more"
    assert since_head(tree, capfd)[0] == line


def test_a_changed_recipe_asks_for_its_target(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    git_files(tree, **{"Makefile": MAKEFILE.replace("touch", "rm"), "more.mk": f"# new\n{MORE}"})
    assert since_head(tree, capfd) == [f"{NOTHING} 2 paths that differ from HEAD."]
    git_files(tree, **{"more.mk": MORE.replace("WORD = a", "WORD = b")})
    assert since_head(tree, capfd)[0] == "make long 9 min Makefile: long"


def test_targets_run_cheapest_first_and_each_to_its_end(
    tree: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN", "1")
    monkeypatch.setenv("MAKEFLAGS", "BASE=x -- RUN=1")  # of make affected
    git_files(tree, **{"a/old": "1", "suites/parity/p": "1"})
    status, lines = printed(tree, capfd, "--base", "HEAD", "--run")
    ends = [line for line in lines if line.startswith(("passed", "FAILED"))]
    assert status == 1
    assert ends == [
        'passed 0.0 min make engines ENGINES="one/fast"',
        "passed 0.0 min make short",
        "FAILED 0.0 min make long",
    ]
    git_files(tree, **{"a/old": ""})
    assert printed(tree, capfd, "--base", "HEAD", "--run")[0] == 0


def test_an_unknown_commit_and_a_missing_makefile_are_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tree, ["--base", "nowhere"]) == 2
    line = "git has no commit 'nowhere': fetch it, or name another BASE\n"
    assert capsys.readouterr() == ("", line)
    (tree / "more.mk").unlink()
    assert main(tree, []) == 2
    assert capsys.readouterr().err.startswith("more.mk: this makefile is missing")
