"""The writers: each renders any document, and untrusted content is text in all of them."""

import pytest

from sampler_parity.reports import document as doc
from sampler_parity.reports.page import PageSummary, terminal_lines
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.html_page import Page
from tests.support.report_bundles import HOSTILE


def document(*blocks: doc.Block, title: str = "A: ok") -> doc.Document:
    return doc.Document(title, "A", [], blocks)


def written(*blocks: doc.Block) -> str:
    """Return the Markdown below the title."""
    return markdown(document(*blocks)).removeprefix("# A: ok\n\n")


INLINES = [doc.Untrusted(HOSTILE), doc.Name(HOSTILE), doc.Code(HOSTILE)]


@pytest.mark.parametrize("inline", INLINES, ids=lambda inline: type(inline).__name__)
def test_text_from_elsewhere_is_text_wherever_it_stands(inline: doc.Inline) -> None:
    everywhere = document(
        doc.Heading(2, inline, "h"),
        doc.Paragraph((inline, doc.Strong(inline), doc.Toned(inline, "bad"))),
        doc.Items([doc.Item(inline, inner=[inline])]),
        doc.Table(inline, ["a", inline], [["b", doc.Lines([inline, inline])]]),
        doc.Fold(inline, [doc.Paragraph(inline)], markdown=True),
        doc.Facts([(inline, inline)]),
    )
    page, text = Page(html(everywhere)), markdown(everywhere)
    assert not page.all("script")
    assert page.text.count("<script>alert(1)</script>") > 10
    assert "alert(1)" in text
    assert "<script" not in text
    assert "@you" not in text
    assert "\x1b" not in html(everywhere) + text


def test_a_cell_is_a_number_a_verdict_or_spans_columns() -> None:
    row = doc.TableRow(["x", doc.num("1", key="1"), doc.judged("no", "bad")], "place")
    gone: doc.Cells = ["y", doc.TableCell("did not run", span=2)]
    table = doc.Table("c", "One | Two | p (Holm)", [row, gone], style="stacked")
    text = html(document(table))
    assert '<th scope="col" class="n">Two</th>' in text
    assert '<tr id="place"><th scope="row">x</th>' in text
    assert '<td class="n" data-label="Two" data-n="1">1</td>' in text
    assert '<td class="bad" data-label="p (Holm)">no</td>' in text
    assert '<td colspan="2">did not run</td>' in text
    assert written(table) == (
        "| one | two | p (Holm) |\n| --- | --- | --- |\n| x | 1 | **no** |\n| y | did not run |  "
        "|\n"
    )


def test_markdown_has_the_columns_that_it_wants_and_says_how_many_rows_are_left_out() -> None:
    rows = [[str(i), f"b{i}", f"c{i}"] for i in range(5)]
    table = doc.Table("", "One | Two | SHA", rows, markdown="SHA | one", most=2, what="cases")
    assert (
        written(table) == "| SHA | one |\n| --- | --- |\n| c0 | 0 |\n| c1 | 1 |\n\n3 more cases.\n"
    )
    assert Page(html(document(table))).text.count("b4") == 1


def test_what_is_folded_stands_in_markdown_where_the_page_wants_it() -> None:
    inner = [doc.Paragraph("inner")]
    assert written(doc.Paragraph("x"), doc.Fold("s", inner)) == "x\n"
    assert written(doc.Fold("s", inner, markdown=True)) == "inner\n"
    assert written(doc.InMarkdown(inner), doc.InHtml([doc.Paragraph("page")])) == "inner\n"
    text = html(document(doc.Fold("s", inner, open=True), doc.Fold("empty", [])))
    assert "<details open><summary>s</summary>\n<p>inner</p>\n</details>" in text
    assert "<summary>empty" not in text


def test_a_picture_of_nothing_is_no_figure() -> None:
    assert "<figure" not in html(document(doc.Picture("l", "c", lambda salt: "")))
    assert '<svg id="picture 1">' in html(
        document(doc.Picture("l", "c", lambda salt: f'<svg id="{salt}"></svg>'))
    )


def test_a_region_ends_with_an_empty_line_in_markdown() -> None:
    region = doc.Region("r", [doc.Heading(2, "R", "r"), doc.Paragraph("x")])
    assert written(region) == "## R\n\nx\n\n"


def test_lines_of_a_terminal_are_lines() -> None:
    assert terminal_lines(PageSummary(None, [], ["a\nb", "c\td"])) == ["a b", "c d"]
