"""studies/findings: every finding has a program of its own, and each program shows its finding."""

import re
from pathlib import Path

import pytest

from tests.support.compilers import gcc_of, gcc_of_llama
from tests.support.finding_programs import (
    FOLDER,
    ROOT,
    Program,
    compile_line,
    compiled,
    interpreted,
    lacking,
    missing,
    numbers,
    programs,
    ran,
    table,
)

LINES = 60
PAGES = {"findings": "findings", "akunu": "findings/akunu", "power_law": "findings/power-law"}


@pytest.mark.parametrize("page", PAGES)
def test_every_finding_has_a_program_or_a_reason_for_none(page: str) -> None:
    text = (ROOT / "docs" / f"{PAGES[page]}.md").read_text(encoding="utf-8")
    assert not missing(text, table()[page])
    assert not {*table()[page]} - {*numbers(text)}


def test_a_finding_without_a_program_is_named() -> None:
    page = "# Findings\n\n## 1. One\n\n## 2. Two\n\n## Others\n\n## 3. Three\n"
    assert missing(page, {"1": {"programs": ["x.cpp"]}, "3": {}}) == ["2", "3"]
    assert missing(page, {n: {"none": "no GPU"} for n in "123"}) == []


def test_the_folder_has_the_programs_of_the_table_and_no_others() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".cpp", ".py", ".mjs")}
    assert {program.file for program in programs()} == files


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.file)
def test_a_program_has_nothing_of_ours_and_few_lines(program: Program) -> None:
    text = (FOLDER / program.file).read_text(encoding="utf-8")
    assert not re.search(r"^\s*(import|from) (sampler_parity|studies|tests)", text, re.MULTILINE)
    assert "expected" in text
    assert text.count("\n") <= LINES
    number = program.finding.split("/")[1]
    assert re.match(rf"[a-z_]+_0?{number}_\w+\.", program.file)
    if program.file.endswith(".cpp"):
        assert re.match(
            rf"(c|em)\+\+ -std=c\+\+17 {program.file} -o repro(\.js)? ",
            compile_line(FOLDER / program.file),
        )


@pytest.mark.parametrize(
    ("compiler", "gcc"),
    [("GCC: (Debian 16.2.0-4) 16.2.0", 16), ("GCC: (GNU) 9.4.0", 9), ("clang version 19.1.7", 0)],
)
def test_the_release_of_gcc_is_read_from_what_a_library_says(compiler: str, gcc: int) -> None:
    assert gcc_of(compiler) == gcc


def test_a_finding_may_end_with_a_compiler() -> None:
    lazy = next(program for program in programs() if program.finding == "findings/18")
    assert [lazy.shown_by(gcc) for gcc in (0, 12, 15, 16, 17)] == [True] * 3 + [False] * 2
    assert all(p.shown_by(99) for p in programs() if p.finding != lazy.finding)


@pytest.mark.nightly
@pytest.mark.parametrize("program", programs(), ids=lambda program: program.file)
def test_a_program_shows_its_finding_and_exits_with_1(program: Program, tmp_path: Path) -> None:
    native = program.file.endswith(".cpp")
    words: list[str] = []
    away = program.away
    if not away and native:
        away = lacking(program)
    elif not away:
        words, away = interpreted(program)
    if away:
        pytest.skip(away)
    if native:
        words = compiled(FOLDER / program.file, tmp_path)
    folder = tmp_path if native else ROOT
    done = ran(words, folder, 900)
    if "no Vulkan device here" in done.stdout:
        pytest.skip("no Vulkan device here")
    shown = 1 if program.shown_by(gcc_of_llama()) else 0
    assert done.returncode == shown, done.stdout + done.stderr
    assert re.search(r"expected .*got", done.stdout, re.DOTALL), done.stdout
    assert "Traceback" not in done.stderr, done.stderr
