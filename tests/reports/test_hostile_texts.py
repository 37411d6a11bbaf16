"""Every text of a bundle, hostile, in every output: shown, but never interpreted.

The texts are found by the types of the records, so a new field is tested, too.
"""

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sampler_parity.harness.bundle.bundle import result_types
from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.sanitize import printable
from sampler_parity.harness.sanitize.printable import LONGEST_LINE
from tests.support.command_line import cli
from tests.support.filled import TextOf, filled_bundle, texts_of
from tests.support.html_page import problems

pytestmark = pytest.mark.slow  # all of them together

EVIL = (
    "::error $x^{$::y\x1b[31m\x9b2J\x00\x85\u2028\u202e\u2066\r::error::x\n::stop-commands::x"
    "##[group]<script>alert(1)</script><img src=x onerror=a>&\"'\\|`*_[x](http://y) @you #1 \\"
)
LONG = "x" * 6_000
CUT = re.compile(r"x\.\.\. \([\d,]+ more characters\)")
# Texts whose form is checked when the bundle is read.
KNOWN = {"BackendInfo.reference": "v0.5.0"}
OWN_TAGS = re.compile(r"</?(?:code|details|summary|br|sub)/?>")
RAW = ("<", ">", "`*", "*_[", "[x](", "@you", " #1", "::", "##[", "$x", "\\|")


def evil(place: str) -> str:
    """Return a text that begins like a command to a CI's log, and names its place."""
    return KNOWN.get(place, f"{EVIL}{place}")


def long(place: str) -> str:
    return KNOWN.get(place, f"{place}{LONG}")


@dataclass
class Out:
    """Output of the commands on a bundle of such texts and another: lines, and files by form."""

    printed: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def of(self, form: str) -> list[str]:
        return [text for name, text in self.files.items() if name.endswith(f".{form}")]


def out_of(folder: Path, text_of: TextOf, pictures: bool = False) -> Out:
    """pictures: all forms of a report, too; they take most of the time."""
    a, b = (filled_bundle(folder / name, text_of).folder for name in "ab")
    pages, database = folder / "pages", folder / "h.sqlite"
    out = Out()
    forms: list[str | Path] = [] if pictures else ["-f", "md"]
    drawn: list[str | Path] = ["-o", pages] if pictures else []
    files: list[str | Path] = ["--json", pages / "gate.json", "--md", pages / "gate.md"]
    commands: list[list[str | Path]] = [
        ["explain", a, text_of("CaseResult.id")],
        ["report", a, "-o", pages, *forms],
        ["compare", a, b, "-o", pages],
        ["gate", a, "--no-recompute", "--baseline", b, *files],
        ["history", "add", a, b, "-d", database],
        ["history", "show", "-d", database, *drawn],
    ]
    for arguments in commands:
        done = cli(*arguments)
        assert done.returncode in (0, 1), done.stderr
        out.printed += done.stdout + done.stderr
    out.files = {path.name: path.read_text() for path in pages.iterdir()}
    return out


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Out:
    return out_of(tmp_path_factory.mktemp("evil"), evil, pictures=True)


def test_all_texts_of_all_records_are_in_it(tmp_path: Path) -> None:
    folder = filled_bundle(tmp_path / "b", lambda place: KNOWN.get(place, place)).folder
    written = (folder / "run.json").read_text() + (folder / "results.jsonl").read_text()
    places = {place for model in (RunInfo, *result_types()) for place in texts_of(model)}
    assert len(places) > 60
    assert {place for place in places if KNOWN.get(place, place) not in written} == set()


def wrong_lines(printed: str) -> list[str]:
    """Return lines that a terminal or the log of a CI would act on, or that are too long."""
    return [
        line
        for line in printed.split("\n")
        if not line.isprintable()
        or line.lstrip().startswith("::")
        or "##[" in line
        or len(line) > LONGEST_LINE + 50
    ]


def test_what_is_printed_is_harmless_lines(hostile: Out) -> None:
    assert hostile.printed.count("\\x1b[31m") > 10
    assert wrong_lines(hostile.printed) == []


def wrong_markdown(text: str) -> list[str]:
    """Return lines with unescaped text of others, and rows of another length than their table."""
    lines = text.split("\n")
    wrong = [line for line in lines if not line.isprintable()]
    for line in lines:
        plain = OWN_TAGS.sub("", line)
        wrong += [f"{raw} in {line}" for raw in RAW if raw in plain]
    for above, line in pairwise(lines):
        if above.startswith("| ") and line.startswith("| ") and _cells(above) != _cells(line):
            wrong.append(line)
    return wrong


def _cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row))


def test_markdown_has_no_markup_of_others(hostile: Out) -> None:
    assert len(hostile.of("md")) >= 6
    assert "alert(1)" in "".join(hostile.of("md"))
    for text in hostile.of("md"):
        assert wrong_markdown(text) == []


def test_html_has_no_element_of_others_and_its_charts_are_xml(hostile: Out) -> None:
    charts = [
        chart
        for text in hostile.of("html")
        for chart in re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    ]
    names = {name for name in hostile.files if name.endswith(".html")}
    for text in hostile.of("html"):
        assert problems(text, tuple(names)) == []
        assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert len(charts) >= 3
    texts = [node.text or "" for chart in charts for node in ElementTree.fromstring(chart).iter()]
    assert any("$x^{$" in text for text in texts)  # as it is, and no formula


def test_junit_and_json_can_be_read(hostile: Out) -> None:
    assert len(hostile.of("xml")) == 4  # cases, cells, claims, servers
    for junit in hostile.of("xml"):
        root = ElementTree.fromstring(junit.encode())
        shown = "".join(root.itertext()) + "".join(
            v for node in root.iter() for v in node.attrib.values()
        )
        assert "\\x1b[31m" in shown
        assert [line for line in shown.split("\n") if not line.isprintable()] == []
    for text in hostile.of("json"):
        json.loads(text)
        assert [line for line in text.split("\n") if not line.isprintable()] == []


def test_what_is_cut_says_how_much_is_left_out(tmp_path: Path) -> None:
    out = out_of(tmp_path, long)
    assert wrong_lines(out.printed) == []
    for text in (out.printed, *out.of("md")):
        runs = re.findall(r"x{150,}[^\n]{0,40}", text)
        assert len(runs) > 0
        assert [run[-60:] for run in runs if not CUT.search(run)] == []


def test_a_planted_hole_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printable, "_visible_character", lambda character: character)
    monkeypatch.setattr(printable, "_SPECIAL", {})
    out = out_of(tmp_path, evil)
    assert wrong_lines(out.printed)
    assert all(wrong_markdown(text) for text in out.of("md"))
