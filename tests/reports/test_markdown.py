"""The parity page in Markdown: short, and untrusted text is never markup."""

from pathlib import Path

import pytest

from sampler_parity.harness.sanitize.printable import safe
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_findings import GROUPS
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.writers.ci import MOST_CHARACTERS, markdown
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>&", "&lt;b&gt;&amp;"),
        ("a|b", "a&#124;b"),
        ("`x`", "&#96;x&#96;"),
        ("[x](y) @you #1", "&#91;x&#93;(y) &#64;you &#35;1"),
        ("two\nlines", "two lines"),
        ("a" * 205, "a" * 200 + "... (5 more characters)"),
    ],
)
def test_markdown_text_of_others_is_neither_markup_nor_mention(text: str, expected: str) -> None:
    assert safe(text) == expected


def test_markdown_shows_counts_matrix_and_failures(tmp_path: Path) -> None:
    cases = [
        case("a", {"native": diverged()}, samplers=["x", "y", "top_p", "temp", "dist"]),
        case("b", {"native": got()}),
    ]
    text = markdown(document(report_of([bundle_of(tmp_path / "x", run_info("native"), cases)])))
    for line in (
        "# Parity report: FAILED",
        "| finding | backend | smallest | replay |",
        "| **1 case diverges at top&#95;p&#58; keeps 63 fewer than p allows** |"
        " <code>native</code> | <code>a</code>; survivors&#58; got 10395, expected 10458;"
        " p at rank 7 (id 4711)&#58; got 0.25, expected 0.5 |"
        " <code>sampler-parity run parity/top&#95;p --case a -b native</code> |",
        "| <code>native</code> | 1/2 | 1/2 identical, 1 diverged | <code>1.0</code> |",
        "| <code>top&#95;p</code> | 2 | 1/2 identical, 1 diverged (**1 failed**) |",
    ):
        assert line in text.splitlines()


def test_markdown_begins_with_the_worst_group_and_says_how_many_more_there_are(
    tmp_path: Path,
) -> None:
    stages = [f"s{i:02}" for i in range(25)]
    cases = [case(s, {"native": diverged(stage=s)}, samplers=[s]) for s in stages]
    cases += [case(f"d{i}", {"native": diverged()}) for i in range(7)]
    cases += [case(f"u{i}", {"native": got("unsupported", detail="no x")}) for i in range(99)]
    text = markdown(document(report_of([bundle_of(tmp_path / "x", run_info("native"), cases)])))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| **7 cases diverge at top&#95;p&#58; keeps 63 fewer")
    assert text.count(" diverges at ") == GROUPS - 1 == 19
    assert "| 99 cases are not supported&#58; no x |" in text
    assert "6 more groups of failures." in text


@pytest.mark.slow
@pytest.mark.parametrize("bundles", [1, 12])
def test_markdown_fits_a_comment_however_much_failed(tmp_path: Path, bundles: int) -> None:
    long = "<" * 5000
    cases = [
        case(f"{i}{long}", {long: diverged(detail=long)}, samplers=[f"{long}{i}"])
        for i in range(200 // bundles)
    ]
    folders = [tmp_path / str(i) for i in range(bundles)]
    text = markdown(
        document(report_of([bundle_of(folder, run_info(long), cases) for folder in folders]))
    )
    assert len(text) <= MOST_CHARACTERS + 100 < 65_536
    assert text.startswith("# Parity report: FAILED")
    assert f"{200 // bundles} case" in text
