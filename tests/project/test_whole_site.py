"""`make site`: a page for each finding, reports of measurements, badges, and working links."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from scripts.site import measured
from scripts.site.__main__ import source
from scripts.site.findings import STATUS, read
from scripts.site.links import problems
from scripts.site.measured import badges, bundles_of, page, reported
from scripts.site.pages import index, linked, write
from tests.support.chromium import See
from tests.support.gate_bundles import finished
from tests.support.makefiles import MAKEFILES, ROOT, targets
from tests.support.report_bundles import case, diverged, got, run_info

TEXT = """# Findings

| number | project | summary | severity |
| --- | --- | --- | --- |
| [1](#1-a-first-) | llama.cpp | It ends. | crash |

## 1. A first `[^...]`

What and why, see [the second](#2-a-second), [verdicts](verdicts.md#decisions) and
[elsewhere](https://example.org/x).

    sampler-parity run parity/findings --case findings/mirostat-tau-8-turns-greedy

## 2. A second

Another.

## Not numbered
"""
ROWS = "| finding | concerns | seen in | state |\n| --- | --- | --- | --- |\n"
BOTH = ROWS + "| 1 | ask | v1 | open |\n| 2 | draw | v2 | meant |\n"
PROGRAMS = """[findings]
1 = { programs = ["finding_01_first.py"], on = "llama.cpp" }
2 = { none = "it takes a year" }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "findings").mkdir(parents=True)
    (tmp_path / "docs" / "findings.md").write_text(TEXT)
    (tmp_path / "docs" / STATUS).write_text(BOTH)
    for name in ("findings/akunu.md", "findings/power-law.md"):
        (tmp_path / "docs" / name).write_text("# Findings: another\n\n## Not numbered\n")
    folder = tmp_path / "studies" / "findings"
    folder.mkdir(parents=True)
    (folder / "programs.toml").write_text(PROGRAMS)
    (folder / "finding_01_first.py").write_text("print('expected 1, got 2')\n")
    return tmp_path


def test_a_finding_has_a_page_with_what_shows_it(project: Path) -> None:
    write(read(project), project, project / "out")
    text = (project / "out" / "1.md").read_text()
    assert text.startswith("# 1. A first `[^...]`\n")
    for part in (
        "| Concerns you if you | ask |",
        "| Seen in | v1 |",
        "| State | open |",
        "[findings](../docs/findings.md#1-a-first-)",
        "It ends.\n\nWhat and why",
        "[the second](2.md), [verdicts](../docs/verdicts.md#decisions)",
        "[elsewhere](https://example.org/x)",
        "## Shrunk case\n",
        'chain    {"mirostat": {',
        "```python\nprint('expected 1, got 2')\n```",
    ):
        assert part in text
    second = (project / "out" / "2.md").read_text()
    assert "## Shrunk case" not in second
    assert "## A program that stands alone\n\nit takes a year" in second


@pytest.mark.slow
def test_every_finding_has_a_page_whatever_kind_of_case_shows_it(tmp_path: Path) -> None:
    findings = read(ROOT)
    write(findings, ROOT, tmp_path)
    pages = {one.stem: (tmp_path / f"{one.stem}.md").read_text() for one in findings}
    of_generation = [text for text in pages.values() if "case     findings/meaning/" in text]
    assert of_generation != []
    assert all("\nlogits   {" in text for text in of_generation)


def test_the_page_over_all_leads_to_each(project: Path) -> None:
    text = index(read(project))
    assert "| [1. A first `[^...]`](1.md) | open | ask |" in text
    assert text.endswith("\n1\n2\n```\n")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (ROWS + "| 1 | who | v1 | open |\n", "finding 2 has no status"),
        (BOTH + "| 3 | who | v1 | open |\n", "'3' is no finding"),
        (BOTH + "| 2 | who | v1 | open |\n", "row '2': twice"),
        (BOTH + "| 3 | who | v1 | |\n", "row '3': twice, or not four cells"),
    ],
    ids=["missing", "of none", "twice", "empty"],
)
def test_a_status_that_does_not_fit_the_findings_is_refused(
    project: Path, status: str, message: str
) -> None:
    (project / "docs" / STATUS).write_text(status)
    with pytest.raises(InputError, match=re.escape(message)):
        read(project)


def test_a_program_that_is_not_there_is_refused(project: Path) -> None:
    (project / "studies" / "findings" / "finding_01_first.py").unlink()
    with pytest.raises(InputError, match=r"finding_01_first\.py"):
        write(read(project), project, project / "out")


def test_every_numbered_finding_of_the_docs_has_its_status_and_a_place_of_its_own() -> None:
    findings = read(ROOT)
    headings = re.findall(r"(?m)^## \d+\. ", (ROOT / "docs" / "findings.md").read_text())
    assert sum(one.page == "findings.md" for one in findings) == len(headings)
    assert len({one.stem for one in findings}) == len(findings) > len(headings)
    assert [one.key for one in findings if not one.body] == []
    places = {(one.page, one.anchor): f"{one.stem}.md" for one in findings}
    one = next(one for one in findings if one.key == "4")
    assert "](36.md)" in linked(one.body, one.page, places)


def test_links_of_a_page_in_a_folder_of_docs_are_resolved_from_there() -> None:
    places = {("findings/akunu.md", "3-three"): "akunu-3.md", ("findings.md", "7-seven"): "7.md"}
    text = "[a](#3-three) [b](../findings.md#7-seven) [c](token-trie.md) [d](../../studies/x.toml)"
    assert linked(text, "findings/akunu.md", places) == (
        "[a](akunu-3.md) [b](7.md) [c](../docs/findings/token-trie.md) [d](../studies/x.toml)"
    )


def measured_in(folder: Path, **cases: object) -> Path:
    results = [case(f"top_p/{name}", {"mine": result}) for name, result in cases.items()]  # type: ignore[dict-item]
    finished(folder, results, run_info("mine"))
    return folder


def test_what_is_measured_is_reported_and_what_is_not_names_its_command(tmp_path: Path) -> None:
    measured_in(tmp_path / "bundles" / "drift", a=got(), b=diverged())
    rows = reported(tmp_path / "bundles", tmp_path / "extra")
    badges(rows, [], tmp_path / "extra")
    text = page(rows, trend=False)
    assert "| Releases of llama.cpp | 1/2 | 2026-01-01 |" in text
    assert "| Engines | not measured here | | `make engines` makes it |" in text
    assert (tmp_path / "extra" / "reports" / "drift" / "parity.html").is_file()
    badge = json.loads((tmp_path / "extra" / "badges" / "drift.json").read_text())
    assert badge == {
        "schemaVersion": 1,
        "label": "sampler-parity drift",
        "message": "1/2 as required",
        "color": "red",
    }
    absent = json.loads((tmp_path / "extra" / "badges" / "engines.json").read_text())
    assert (absent["message"], absent["color"]) == ("not measured", "lightgrey")


def test_bundles_of_a_set_are_one_or_lie_in_its_folder(tmp_path: Path) -> None:
    measured_in(tmp_path / "one", a=got())
    for name in ("a", "b"):
        measured_in(tmp_path / "engines" / name, a=got())
    assert bundles_of(tmp_path / "one") == [tmp_path / "one"]
    assert [path.name for path in bundles_of(tmp_path / "engines")] == ["a", "b"]
    assert bundles_of(tmp_path / "nothing") == []


def test_a_bundle_that_was_cut_short_is_refused_and_not_left_out(tmp_path: Path) -> None:
    folder = measured_in(tmp_path / "bundles" / "drift", a=got())
    records = (folder / "results.jsonl").read_text().splitlines(keepends=True)
    (folder / "results.jsonl").write_text("".join(records[:-1]))
    with pytest.raises(InputError, match="did not finish"):
        reported(tmp_path / "bundles", tmp_path / "extra")


def test_pages_of_engines_are_copied_and_their_other_files_linked(project: Path) -> None:
    engine = project / "engines" / "theirs"
    engine.mkdir(parents=True)
    (engine / "README.md").write_text("# Their engine\n")
    (engine / "engine.toml").write_text("")
    assert source(project, project / "source") == 0
    copied = project / "source" / "engines" / "theirs"
    assert not (copied / "README.md").is_symlink()
    assert (copied / "README.md").read_text() == "# Their engine\n"
    assert (copied / "engine.toml").resolve() == engine / "engine.toml"


def test_what_changed_overnight_is_part_of_the_site_where_it_was_written(project: Path) -> None:
    folder = project / "source"
    assert source(project, folder) == 0
    assert "night.md" not in (folder / "measured" / "index.md").read_text()
    (project / "bundles").mkdir()
    (project / "bundles" / "night.md").write_text("# What changed\n")
    assert source(project, folder) == 0
    row = "| Since the night before | | | [what changed](night.md) |"
    assert row in (folder / "measured" / "index.md").read_text()
    assert (folder / "measured" / "night.md").read_text() == "# What changed\n"
    badge = json.loads((folder / "extra" / "badges" / "findings.json").read_text())
    assert badge["message"] == "2, 1 open"


def test_every_set_is_made_by_a_target_of_make() -> None:
    assert {one.command.removeprefix("make ") for one in measured.SETS} <= {*targets(*MAKEFILES)}
    text = "".join(path.read_text() for path in MAKEFILES).replace("$(BUNDLE)", "bundles/parity")
    for one in measured.SETS:
        assert f"bundles/{one.name}" in text


GOOD = '<a href="b.html#here">b</a><a href="#top" id="top">t</a><a href="sub/">s</a>'


def site_with(folder: Path, text: str) -> Path:
    (folder / "sub").mkdir()
    (folder / "sub" / "index.html").write_text('<a href="../a.html">up</a>')
    (folder / "b.html").write_text('<p id="here"></p><a href="https://example.org/">out</a>')
    (folder / "a.html").write_text(text)
    return folder


def test_links_that_lead_somewhere_are_no_problem(tmp_path: Path) -> None:
    assert problems(site_with(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<a href="c.html">c</a>', "a.html: no file c.html"),
        ('<a href="b.html#there">b</a>', "a.html: no place b.html#there"),
        ('<a href="#nowhere">x</a>', "a.html: no place #nowhere"),
        ('<img src="p.png">', "a.html: no file p.png"),
        ('<script src="https://e.example/x.js"></script>', "fetches https://e.example/x.js"),
        ('<link rel="stylesheet" href="//e.example/x.css">', "fetches //e.example/x.css"),
        ("<style>p { background: url(https://e.example/x) }</style>", "fetches https://e.example"),
    ],
)
def test_a_link_that_leads_nowhere_and_another_host_are_named(
    tmp_path: Path, text: str, message: str
) -> None:
    lines = problems(site_with(tmp_path, text))
    assert len(lines) == 1
    assert message in lines[0]


def test_a_stylesheet_that_asks_another_host_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@import 'https://e.example/y';")
    assert problems(tmp_path) == ["a.css: fetches https://e.example/y"]


@pytest.mark.nightly
def test_the_whole_site_is_made_and_fits_a_phone_and_a_screen(tmp_path: Path, see: See) -> None:
    site = tmp_path / "site"
    done = subprocess.run(["make", "site", f"SITE={site}"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"findings.json", "engines.json"} <= {p.name for p in (site / "badges").iterdir()}
    pages = [site / "findings" / f"{one.stem}.html" for one in read(ROOT)]
    for path in [*pages, site / "findings" / "index.html", site / "measured" / "index.html"]:
        base = f'<head><base href="{path.as_uri()}">'
        seen = see(path.read_text(encoding="utf-8").replace("<head>", base, 1), 390, 1280)
        assert [one.scroll_width for one in seen] == [390, 1280], path.name
        assert [line for line in seen[0].console if "searchindex" not in line] == [], path.name


@pytest.mark.parametrize(("ok", "words"), [(True, "as required"), (False, "not as required")])
def test_a_set_that_has_no_cases_says_whether_its_results_are_as_required(
    ok: bool, words: str
) -> None:
    (servers,) = [one for one in measured.SETS if one.name == "servers"]
    of_report = {"backends": [], "ok": ok}
    row = measured.MeasuredSet(servers, "2026-11-23", of_report, "servers")
    assert f"| Servers | {words} | 2026-11-23 |" in page([row], trend=False)
