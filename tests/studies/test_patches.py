"""The patches of llama.cpp: their table, page and findings agree, and changes are judged both
ways."""

import os
import re
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from scripts.site import findings
from studies.patches import build, changes, digests, programs, table
from studies.patches.__main__ import chosen, judged, rows
from studies.patches.changes import Run
from studies.patches.digests import Look
from studies.patches.table import ALL, Changed, Patch

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "findings" / "patches.md").read_text(encoding="utf-8")
PATCHES = table.read()
LINES, CONTEXT = 30, 1  # added and removed lines of a patch; lines around a change


def changed_lines(patch: str) -> int:
    return len(re.findall(r"^[+-](?![+-]{2} [ab]/)", patch, re.MULTILINE))


def context_at_the_ends(patch: str) -> int:
    """Return the most lines of context before the first or after the last change of a hunk."""
    most = 0
    for hunk in re.split(r"^@@ .*\n|^--- .*\n\+\+\+ .*\n", patch, flags=re.MULTILINE):
        kinds = "".join(line[:1] for line in hunk.splitlines())
        if kinds:
            most = max(most, len(kinds) - len(kinds.lstrip(" ")), len(kinds) - len(kinds.rstrip()))
    return most


def open_findings() -> set[int]:
    """Return the numbers of the findings of llama.cpp that are open."""
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    of_llama = set(re.findall(r"^\| \[(\d+)\]\([^)]*\) \| [^|]*llama\.cpp", text, re.MULTILINE))
    listed = {one.key: one.state for one in findings.read(ROOT) if one.page == "findings.md"}
    return {int(key) for key in of_llama if listed[key].startswith("open")}


def without_a_patch(page: str) -> set[int]:
    """Return the numbers in the first column of the page's last table: `7, 8, 9` or `42 to 45`."""
    numbers: set[int] = set()
    for cell in re.findall(r"^\| (\d[^|]*) \|", page.split("without a patch")[1], re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", cell):
            numbers |= {*range(int(first), int(last or first) + 1)}
    return numbers


def test_the_folder_has_the_patches_of_the_table_and_no_others() -> None:
    assert {patch.path for patch in PATCHES} == {*table.FOLDER.glob("*.patch")}


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
def test_a_patch_is_small_and_of_an_open_finding(patch: Patch) -> None:
    text = patch.path.read_text(encoding="utf-8")
    assert patch.finding in open_findings()
    assert patch.name.startswith(f"{patch.finding:02}-")
    assert 0 < changed_lines(text) <= LINES
    assert context_at_the_ends(text) <= CONTEXT
    assert set(patch.files()) <= {*build.BOTH, "src/llama-grammar.h"}
    assert programs.source_of(patch).is_file()


def test_the_page_has_a_section_for_each_patch_and_a_reason_for_each_other_open_finding() -> None:
    sections = re.findall(
        r"^## Finding (\d+): .*\n\n- Patch: \[([\w-]+)\.patch\]", PAGE, re.MULTILINE
    )
    assert sections == [(str(patch.finding), patch.name) for patch in PATCHES]
    patched = {patch.finding for patch in PATCHES}
    of_others = {50}  # of ik_llama.cpp
    assert without_a_patch(PAGE) == open_findings() - patched - of_others


def test_every_entry_of_a_patched_finding_links_to_the_page() -> None:
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    linked = re.findall(r"\(findings/patches\.md#finding-(\d+)-", text)
    assert [*map(int, linked)] == [patch.finding for patch in PATCHES]


def test_a_table_in_another_order_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "patches.toml"
    path.write_text(
        '[[patch]]\nname = "02-b"\nfinding = 2\n[[patch]]\nname = "01-a"\nfinding = 1\n'
    )
    with pytest.raises(InputError, match="order"):
        table.read(path)
    with pytest.raises(InputError, match="there is none"):
        chosen(PATCHES, ["03-none"])


KNOWN = ["a/one", "a/two", "b/one"]


@pytest.mark.parametrize(
    ("changed", "patterns", "expected"),
    [
        ({"a/one", "a/two"}, ["a/*"], []),
        ({"a/one", "a/two", "b/one"}, ["a/*"], ["changes, and is not listed: b/one"]),
        ({"a/one"}, ["a/*"], ["is listed, and does not change: a/two"]),
        ({"b/one"}, ["b/one", "c/*"], ["fits no case: c/*"]),
    ],
)
def test_changes_are_judged_both_ways(
    changed: set[str], patterns: list[str], expected: list[str]
) -> None:
    assert changes.problems(changed, patterns, KNOWN) == expected


def test_a_case_of_decoded_logits_need_not_change_on_this_processor() -> None:
    assert changes.problems({"a/one"}, ["a/one", "a/two"], KNOWN, decoded=["a/two"]) == []
    assert changes.problems({"b/one"}, ["a/one"], KNOWN, decoded=["a/one"]) == [
        "changes, and is not listed: b/one"
    ]


FIRST = Patch(name="01-a", finding=1, changed=(Changed(cases=("a/one",), why="w"),))
IN_GRAPH = Patch(
    name="02-b", finding=2, on="llama.cpp/graph", changed=(Changed(cases=("g/*",), why="w"),)
)
RUNS = {
    "llama.cpp": Run(
        {"a/one": "s/a", "b/one": "s/b"}, {"01-a": {"a/one"}, "02-b": set(), ALL: {"a/one"}}
    ),
    "llama.cpp/graph": Run({"g/one": "graph/g"}, {"02-b": {"g/one"}, ALL: {"g/one"}}),
}


def test_a_patch_for_the_graph_may_change_nothing_on_the_cpu() -> None:
    assert judged([FIRST, IN_GRAPH], RUNS) == []
    RUNS["llama.cpp"].changed["02-b"].add("b/one")
    found = judged([FIRST, IN_GRAPH], RUNS)
    RUNS["llama.cpp"].changed["02-b"].clear()
    assert found == ["02-b on llama.cpp: changes, and is not listed: b/one"]


def test_the_table_counts_the_changed_cases_of_each_patch() -> None:
    assert rows([FIRST, IN_GRAPH], RUNS)[2:] == [
        "| 01-a | 1 of 2 | s/a 1 |",
        "| 02-b | 1 of 3 | graph/g 1 |",
        "| all | 2 of 3 | s/a 1, graph/g 1 |",
    ]


def test_digests_go_on_behind_a_case_that_ends_the_process(tmp_path: Path) -> None:
    loads = tmp_path / "loads"

    def load() -> None:
        with loads.open("a") as file:
            file.write("x")

    def dies() -> str:
        os._exit(3)

    prepared = [Look("one", lambda: "1"), Look("dies", dies), Look("two", lambda: "2\n2")]
    assert digests.of_library(prepared, load) == {"one": "1", "dies": digests.DIES, "two": "2 2"}
    assert loads.read_text() == "xx"
    assert digests.of_library(prepared[:2], load) == {"one": "1", "dies": digests.DIES}


def test_a_library_that_cannot_be_loaded_is_no_change() -> None:
    def load() -> None:
        raise OSError("no such library")

    with pytest.raises(ChildProcessError, match="cannot be loaded"):
        digests.of_library([Look("one", lambda: "1")], load)


@pytest.mark.nightly
def test_each_patch_applies_alone_and_all_apply_together(tmp_path: Path) -> None:
    for patch in PATCHES:
        tree = build.patched([patch], tmp_path / patch.name)
        assert all((tree / file).is_file() for file in patch.files())
    build.patched(PATCHES, tmp_path / ALL)


@pytest.mark.nightly
def test_a_patch_of_other_lines_does_not_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PATCHES[0].path.read_text(encoding="utf-8")
    (tmp_path / PATCHES[0].path.name).write_text(re.sub(r"(?m)^-(?!--)", "-other ", text))
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    with pytest.raises(InputError, match="does not apply"):
        build.patched(PATCHES[:1], tmp_path / "tree")
