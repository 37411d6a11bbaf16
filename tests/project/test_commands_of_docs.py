"""Every command of the README and of docs/ runs, with the exit status that its page states."""

import shlex
from pathlib import Path

import pytest

from sampler_parity.harness.backends.engines import ENGINES
from tests.support.command_line import check_command
from tests.support.doc_commands import (
    PAGES,
    ROOT,
    Command,
    commands_in,
    commands_of,
    mentioned,
    name_of,
)
from tests.support.doc_folder import BETWEEN, prepare
from tests.support.doc_homes import home_of, is_here, stale, table
from tests.support.doc_runs import merged, own_path, run_inside, run_pasted, selected

ALL = [command for page in PAGES for command in commands_of(page)]
BY_PAGE = {name: [c for c in ALL if c.page == name] for name in map(name_of, PAGES)}
HOMES = {command: home_of(command) for command in ALL}


def pages_with(kind: str) -> list[str]:
    return [page for page, all_of in BY_PAGE.items() if any(HOMES[c].kind == kind for c in all_of)]


def test_pages_have_commands() -> None:
    pages = {command.page for command in ALL}
    assert {"README.md", "docs/run-suites.md", "docs/check-llama-cpp.md"} <= pages
    assert len(ALL) > 200


def test_every_line_of_the_table_counts_for_a_command() -> None:
    assert stale(ALL, table()) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("commit"))
def test_the_commands_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", own_path())
    prepare(tmp_path, page)
    homes = [HOMES[command] for command in BY_PAGE[page]]
    for home in merged(home for home in homes if home.kind == "commit"):
        if home.run in BETWEEN:
            BETWEEN[home.run](tmp_path)
        status, output = run_inside(home.run, tmp_path)
        assert status == home.status, f"{home.run}: exit status {status}\n{output}"


@pytest.mark.nightly
@pytest.mark.parametrize("page", pages_with("night"))
def test_the_long_commands_of_a_page_run_as_they_are_pasted(page: str, tmp_path: Path) -> None:
    prepare(tmp_path, page)
    left_out = []
    for home in dict.fromkeys(HOMES[command] for command in BY_PAGE[page]):
        if home.needs and not is_here(home.needs):
            left_out.append(home)
        elif home.kind in ("commit", "night"):
            if home.run in BETWEEN:
                BETWEEN[home.run](tmp_path)
            status, output = run_pasted(home.run, tmp_path)
            assert status == home.status, f"{home.run}: exit status {status}\n{output}"
    if left_out:
        lacking = ", ".join(dict.fromkeys(home.needs for home in left_out if home.needs))
        pytest.skip(f"unavailable: {lacking}, which {len(left_out)} commands need")


@pytest.mark.parametrize("command", [c for c in ALL if HOMES[c].kind == "tests"], ids=str)
def test_every_selection_of_our_own_tests_has_some(command: Command) -> None:
    assert selected(command.text)


def test_no_command_of_every_commit_needs_an_environment_that_a_fresh_machine_lacks() -> None:
    apart = [f"-b {name}" for name, row in ENGINES.items() if row.environment] + ["engines exec"]
    here = [command.text for command in ALL if HOMES[command].kind == "commit"]
    assert [text for text in here if any(engine in text for engine in apart)] == []
    apart = [name for name, row in ENGINES.items() if row.environment]
    for name in [*apart, f"{apart[0]}@0.1"]:
        assert home_of(Command("new.md", f"sampler-parity run new -b {name}")).kind == "elsewhere"
    assert len(apart) > 9


def test_what_runs_elsewhere_stands_there() -> None:
    for pattern, (file, line) in table()["elsewhere"].items():
        assert line in (ROOT / file).read_text(encoding="utf-8"), f"{pattern}: {file} has no {line}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [c for c in ALL if HOMES[c].kind != "commit" and c.text.startswith("sampler-parity ")],
    ids=lambda command: command.text,
)
def test_every_command_that_does_not_run_is_one(command: Command) -> None:
    words = shlex.split(command.text.replace("SEED", "0"))[1:]
    if "BUNDLE" not in words:
        check_command([word for word in words if not word.endswith("findings.toml")])


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_that_prose_mentions_is_one(page: Path) -> None:
    for text in mentioned(page.read_text(encoding="utf-8")):
        words = shlex.split(text.replace("NAME.toml", "parity").removesuffix(" ..."))
        try:
            check_command(words[1:])
        except Exception as error:
            if "Missing parameter" not in str(error):  # it may be named without its arguments
                raise


def test_a_mentioned_command_that_there_is_not_is_noticed() -> None:
    assert mentioned("`sampler-parity run\nx`\n\n    `sampler-parity gate`\n") == [
        "sampler-parity run x"
    ]
    with pytest.raises(Exception, match="no command go"):
        check_command(["go"])


def test_a_command_that_there_is_not_is_noticed() -> None:
    with pytest.raises(Exception, match="no such suite"):
        check_command(shlex.split("run parity/nothing -b mine"))
    assert run_inside("sampler-parity list nothing", ROOT)[0] == 2


def test_a_line_that_nobody_would_run_is_noticed() -> None:
    with pytest.raises(ValueError, match="begins with a program that is not known: ls -l"):
        list(commands_in(["ls -l"]))
    with pytest.raises(ValueError, match="stands among commands and is none: what it prints"):
        list(commands_in(["make test", "what it prints"]))


def test_a_line_of_the_table_that_is_needed_no_more_is_noticed() -> None:
    lists: dict[str, dict[str, str]] = {kind: {} for kind in table()}
    lists["night"] = {"make *": "", "make t*": "", "ls": ""}
    assert stale([Command("README.md", "make test")], lists) == ["make *", "ls"]


def test_a_command_with_no_home_is_one_of_every_commit() -> None:
    assert home_of(Command("new.md", "npm publish")).kind == "commit"
    with pytest.raises(AssertionError, match="needs a shell"):
        run_inside("npm publish", ROOT)
