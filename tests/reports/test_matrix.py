"""The parity matrix: sampler x implementation over all bundles, and its explanations."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explanations import Key, read_explanations
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_implementations import (
    MatrixDifference,
    ParityMatrix,
    matrix,
)
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info

CLOSE = got("close", step=0, stage="top_p", stage_index=0, what="p")
ALLOWED = {"tsampler": ["identical", "close", "diverged", "unsupported"]}
WHY: dict[Key, str] = {("tsampler", "top_p", "close"): "Sums in <double>."}


def of(folder: Path, name: str, *results: Any, **fields: Any) -> Bundle:
    fields = {"required": {name: ALLOWED["tsampler"]}} | fields
    cases = [case(f"c{i}", {name: result}, **fields) for i, result in enumerate(results)]
    return bundle_of(folder, run_info(name), cases)


def matrix_of(*bundles: Bundle, why: dict[Key, str] = WHY) -> ParityMatrix:
    parity = matrix(list(bundles), why)
    assert parity is not None
    return parity


def test_backends_of_several_bundles_stand_side_by_side(tmp_path: Path) -> None:
    bundles = [
        of(tmp_path / "a", "tsampler", got(), CLOSE),
        of(tmp_path / "b", "llama.cpp", got(), samplers=["temp"]),
        of(tmp_path / "c", "tsampler", got()),
    ]
    parity = matrix_of(*bundles)
    assert parity.backends == ["llama.cpp", "tsampler"]
    assert [row.sampler for row in parity.rows] == ["top_p", "temp"]
    none, tsampler = parity.rows[0].cells
    assert (none.cases, none.verdict) == (0, None)
    assert (tsampler.cases, tsampler.identical, tsampler.verdict) == (3, 2, "close")
    assert tsampler.differences == [
        MatrixDifference(stage="top_p", verdict="close", cases=1, why="Sums in <double>.")
    ]
    assert parity.unexplained == 0


def test_a_difference_without_its_line_fails_the_report_though_its_case_allows_it(
    tmp_path: Path,
) -> None:
    report = report_of([of(tmp_path / "a", "tsampler", diverged(stage="temp"))])
    assert report.sections[0].ok
    assert report.matrix is not None
    assert report.matrix.unexplained == 1
    assert not report.ok
    assert "not explained" in html(document(report))
    assert "**FAILED: 1 results are not explained.**" in markdown(document(report))


def test_an_explained_difference_does_not_fail_the_report(tmp_path: Path) -> None:
    report = report_of([of(tmp_path / "a", "tsampler", diverged(stage="top_n_sigma"))])
    assert report.ok
    assert "Removes what llama.cpp masks" in html(document(report))
    assert "Removes what llama.cpp masks" in markdown(document(report))


def test_a_correct_result_needs_no_line(tmp_path: Path) -> None:
    report = report_of([of(tmp_path / "a", "tsampler", got("correct"), accept="correct")])
    assert report.ok
    assert "the specification allows" in markdown(document(report))


def test_a_line_for_one_verdict_does_not_cover_another(tmp_path: Path) -> None:
    parity = matrix_of(of(tmp_path / "a", "tsampler", CLOSE, diverged(stage="top_p")))
    worst, close = parity.rows[0].cells[0].differences
    assert (worst.verdict, worst.why) == ("diverged", "")
    assert (close.verdict, close.why) == ("close", "Sums in <double>.")
    assert parity.unexplained == 1


def test_what_a_backend_refuses_it_explains_itself(tmp_path: Path) -> None:
    explained, silent = got("unsupported", detail="no sampler xtc"), got("unsupported")
    parity = matrix_of(of(tmp_path / "a", "tsampler", explained), why={})
    assert parity.rows[0].cells[0].differences[0].why == "no sampler xtc"
    parity = matrix_of(of(tmp_path / "b", "tsampler", explained, silent), why={})
    assert parity.rows[0].cells[0].differences[0].why == ""
    assert parity.unexplained == 1


def test_another_authors_backend_is_shown_and_not_judged_by_our_list(tmp_path: Path) -> None:
    report = report_of([of(tmp_path / "a", "mine", CLOSE)])
    assert report.ok
    assert "not explained" in html(document(report))


def test_builds_of_llama_cpp_alone_need_no_matrix(tmp_path: Path) -> None:
    report = report_of([of(tmp_path / "a", "llama.cpp@b4753", got())])
    assert report.matrix is None
    assert "Samplers by implementation" not in html(document(report))
    assert "Samplers by implementation" not in markdown(document(report))


def test_what_is_judged_by_an_old_release_is_left_to_drift(tmp_path: Path) -> None:
    name = "llama.cpp@b4753"
    facts = BackendInfo(command=["x"], reference="b4753")
    both = case("c", {"tsampler": got(), name: got("rejected")})
    info = run_info("tsampler").model_copy(
        update={"backends": run_info("tsampler").backends | {name: facts}}
    )
    assert matrix_of(bundle_of(tmp_path / "a", info, [both])).backends == ["tsampler"]


LINE = '[[explanation]]\nbackend = "tsampler"\nstage = "top_p"\nverdicts = ["close"]\n'
FULL = LINE + 'why = "Sums in double."\n'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FULL + FULL, "close is explained twice - keep one"),
        (FULL.replace("tsampler", "tsampled"), "unknown backend - use llama.cpp,"),
        (FULL.replace("top_p", "top-p"), "unknown stage - name a sampler"),
        (FULL.replace('"close"', '"identical"'), "verdict 'identical' cannot be explained"),
        (FULL.replace('"close"', '"unsupported"'), "verdict 'unsupported' cannot be explained"),
        (FULL.replace('"close"', ""), "explanation.0.verdicts: List should have at least 1"),
        (LINE + 'why = ""\n', "explanation.0.why: String should have at least 10"),
        (LINE, "explanation.0.why: Field required"),
        ("[[explanation", "not TOML"),
    ],
)
def test_a_bad_file_of_explanations_is_refused(tmp_path: Path, text: str, wanted: str) -> None:
    path = tmp_path / "explanations.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_explanations(path)
    assert wanted in str(caught.value)
