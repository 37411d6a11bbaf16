"""The page about platforms: predictions for each, the causes, and confirmation by real builds."""

from html import unescape
from pathlib import Path

from sampler_parity.reports.page import summary_lines
from sampler_parity.reports.pages.platforms.platforms_model import PlatformsReport, report_of
from sampler_parity.reports.pages.platforms.platforms_page import (
    basis_of,
    document,
    level_of,
    summary,
    tone_of,
)
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.predicted import SORTED, apart, of_a_build, predicted_in, prediction
from tests.support.report_bundles import HOSTILE, read_back, run_info


def page_of(*bundles: object) -> PlatformsReport:
    report = report_of(list(bundles))  # type: ignore[arg-type]
    assert report is not None
    return report


def test_a_case_counts_for_the_sampler_that_parts_it_or_for_all_of_its_chain(
    tmp_path: Path,
) -> None:
    report = page_of(predicted_in(tmp_path))
    wasm, arm64 = report.platforms
    top_k, dist = wasm.cell("top_k"), wasm.cell("dist")
    assert top_k is not None
    assert dist is not None
    assert (top_k.cases, top_k.bits, top_k.order, top_k.survivors) == (5, 2, 2, 2)
    assert (top_k.drawing, top_k.tokens, top_k.texts, top_k.same_texts) == (3, 2, 2, 1)
    assert (dist.cases, dist.bits) == (2, 2)  # the text that top_k parts is not among them
    assert [cell.sampler for cell in arm64.parting] == ["penalties"]
    assert (report.samplers, report.steady) == (["penalties", "top_k"], ["dist", "greedy"])


def test_what_differs_worst_is_reported_of_each_sampler(tmp_path: Path) -> None:
    wasm, arm64 = page_of(predicted_in(tmp_path)).platforms
    cells = {
        (p.name, cell.sampler): (level_of(cell), tone_of(cell))
        for p in (wasm, arm64)
        for cell in p.cells
    }
    assert cells["wasm", "top_k"] == ("texts 1/2", "bad")
    assert cells["wasm", "greedy"] == ("alike", "good")
    assert cells["linux-arm64-gcc", "penalties"] == ("bits 0/1", "fair")


def test_an_operation_has_the_small_case_with_its_two_values(tmp_path: Path) -> None:
    report = page_of(predicted_in(tmp_path))
    cell = report.platforms[0].cell("top_k")
    assert cell is not None
    (operation,) = cell.operations
    assert (operation.words, operation.cases, operation.case) == (SORTED, 3, "a/tie")
    assert (operation.here, operation.there) == ("1 with token 0", "1 with token 2")
    assert operation.smaller.startswith('{"chain": [{"top_k": {"k": 1}}]')
    assert operation.replay == "sampler-parity predict a/tie --platform wasm"
    for text in map(unescape, (html(document(report)), markdown(document(report)))):
        assert SORTED in text
        assert "1 with token 2" in text
        assert "from token 18 on" in text


def test_a_real_build_confirms_what_was_predicted(tmp_path: Path) -> None:
    report = page_of(predicted_in(tmp_path / "p"), of_a_build(tmp_path / "b"))
    wasm, arm64 = report.platforms
    cell = wasm.cell("top_k")
    assert cell is not None
    assert report.ok
    assert (cell.identical, cell.judged) == (2, 2)
    assert basis_of(wasm) == "2/2 cases of real builds are as predicted"
    assert basis_of(arm64) == "predicted; no build of it was asked"
    assert summary(report).headlines[1] == "2/2 identical to it on 1 real builds"


def test_a_build_that_is_not_as_predicted_fails_the_page_and_is_named(tmp_path: Path) -> None:
    report = page_of(predicted_in(tmp_path / "p"), of_a_build(tmp_path / "b", verdict="diverged"))
    (finding,) = summary(report).findings
    assert report.ok is False
    assert finding.text == (
        "llama.cpp@wasm: 1 of 2 cases are not as the reference of wasm predicts"
    )
    assert 'class="state bad">FAILED: ' in html(document(report))


def test_a_build_that_another_reference_judged_confirms_nothing(tmp_path: Path) -> None:
    report = page_of(predicted_in(tmp_path / "p"), of_a_build(tmp_path / "b", reference="v0.5.0"))
    assert (report.ok, report.builds) == (None, [])


def test_a_platform_that_this_version_does_not_know_is_shown_by_its_name(tmp_path: Path) -> None:
    """A bundle of a later version may have one; and names of others are escaped."""
    record = prediction("a/a", "top_k").model_copy(
        update={"platforms": [HOSTILE], "apart": {HOSTILE: apart(HOSTILE, HOSTILE, here=HOSTILE)}}
    )
    report = page_of(read_back(tmp_path, run_info("reference"), [], [record]))
    assert "<script>alert" not in html(document(report))
    assert "<script>" not in markdown(document(report))
    assert report.platforms[0].row == {}


def test_the_terminal_says_how_much_was_predicted(tmp_path: Path) -> None:
    assert "platform 7 cases predicted on 2 platforms" in summary_lines(predicted_in(tmp_path))
