"""The matrix page: engine x property and engine x sampler, each cell with why and its replay."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import Bundle, read_finished
from sampler_parity.harness.failures.explanations import Key
from sampler_parity.reports.pages.matrix.matrix_build import matrix_of
from sampler_parity.reports.pages.matrix.matrix_model import EngineRow, Matrix, MatrixCell
from sampler_parity.reports.pages.matrix.matrix_page import (
    differing_at,
    distance,
    document,
    headlines,
    others_of,
    tone_of,
)
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.chromium import See
from tests.support.engines import KEEPS_ALL, of_ties, properties_in
from tests.support.report_bundles import HOSTILE, bundle_of, case, got, read_back, run_info
from tests.support.several_bundles import cell_on

WHY: dict[Key, str] = {("transformers", "ties", "diverged"): "Cuts by value."}


def of(*bundles: Bundle, why: dict[Key, str] | None = None) -> Matrix:
    matrix = matrix_of(list(bundles), why or {})
    assert matrix is not None
    return matrix


def made(folder: Path, why: dict[Key, str] = WHY) -> Matrix:
    return of(read_finished(properties_in(folder)), why=why)


def engine(matrix: Matrix, name: str) -> EngineRow:
    return next(engine for engine in matrix.engines if engine.name == name)


def ties(matrix: Matrix, name: str) -> MatrixCell:
    return engine(matrix, name).properties[0]


def test_engines_stand_in_the_order_of_their_list_and_strangers_behind(tmp_path: Path) -> None:
    names = [engine.name for engine in made(tmp_path / "b").engines]
    assert names == ["llama.cpp", "akunu/gumbel", "akunu/webgpu", "transformers", "mine"]


def test_a_cell_has_its_count_its_difference_why_and_the_replay(tmp_path: Path) -> None:
    cell = ties(made(tmp_path / "b"), "transformers")
    assert (cell.judged, cell.identical, cell.met, cell.verdict) == (2, 1, 2, "diverged")
    (difference,) = cell.differences
    assert difference.description == "Of three equal tokens at the cut, top-k of 2 keeps one"
    assert (difference.got, difference.expected) == ([1, 2, 3, 4], [1, 2])
    assert (difference.why, difference.required) == ("Cuts by value.", True)
    replay = "sampler-parity run properties/ties --case ties/top_k -b transformers"
    assert difference.replay == replay
    assert tone_of(cell) == "fair"


def test_what_fails_or_is_not_explained_is_red_and_fails_the_page(tmp_path: Path) -> None:
    matrix = made(tmp_path / "b")
    assert tone_of(ties(matrix, "mine")) == "bad"  # not as required
    assert (matrix.failing, matrix.unexplained, matrix.ok) == (2, 0, False)
    unexplained = made(tmp_path / "c", {})
    assert tone_of(ties(unexplained, "transformers")) == "bad"
    assert unexplained.unexplained == 1
    assert "not explained" in html(document(unexplained))
    assert "**not explained**" in markdown(document(unexplained))


def test_what_an_engine_lacks_is_no_difference_and_one_that_is_not_here_says_why(
    tmp_path: Path,
) -> None:
    matrix = made(tmp_path / "b")
    gumbel = ties(matrix, "akunu/gumbel")
    assert (gumbel.judged, gumbel.skipped, tone_of(gumbel)) == (1, 1, "good")
    away = engine(matrix, "akunu/webgpu")
    assert away.unavailable == "wgpu finds no adapter"
    assert "did not run: wgpu finds no adapter" in html(document(matrix))
    assert "wgpu finds no adapter" in markdown(document(matrix))
    assert headlines(matrix)[:2] == [
        "4 engines ran; 2/4 have every property asked",
        "1 did not run here",
    ]
    assert differing_at(engine(matrix, "transformers")) == "differs at ties"
    assert differing_at(engine(matrix, "llama.cpp")) == "has every property asked"
    assert differing_at(away) == ""


def test_an_engine_leads_to_the_page_of_what_it_means_here_or_not(tmp_path: Path) -> None:
    matrix = made(tmp_path / "b")
    pages = {each.name: each.page for each in matrix.engines}
    assert pages["transformers"] == "engines/transformers/README.md"
    assert pages["akunu/webgpu"] == "engines/akunu/README.md"
    assert pages["llama.cpp"] == pages["mine"] == ""
    assert "<code>engines/akunu/README.md</code>" in html(document(matrix))
    assert "engines/transformers/README.md" in markdown(document(matrix))


def test_a_boundary_says_how_far_it_is_from_the_cut(tmp_path: Path) -> None:
    (cell,) = engine(made(tmp_path / "b"), "mine").samplers
    assert (cell.column, others_of(cell)) == ("top_p", ["1 boundary"])
    assert distance(cell.differences[0]) == "3e-07 of the cut"
    assert "3e-07 of the cut" in html(document(made(tmp_path / "c")))


def test_every_judged_cell_leads_to_a_place_that_is_there(tmp_path: Path) -> None:
    matrix = made(tmp_path / "b")
    page = html(document(matrix))
    judged = [c for e in matrix.engines for c in e.cells if c.judged]
    assert judged
    for cell in judged:
        assert f'href="#{cell.anchor}"' in page
        assert f'<tr id="{cell.anchor}">' in page
        assert cell.replay.startswith("sampler-parity run ")


def test_a_case_of_several_bundles_counts_once_and_as_the_worst(tmp_path: Path) -> None:
    results = (got(), KEEPS_ALL, got())
    bundles = [
        bundle_of(tmp_path / str(i), run_info("llama.cpp"), [of_ties("top_k", result)])
        for i, result in enumerate(results)
    ]
    cell = ties(of(*bundles), "llama.cpp")
    assert (cell.judged, cell.identical, cell.verdict) == (1, 0, "diverged")


def test_a_suite_that_was_another_says_so(tmp_path: Path) -> None:
    info = run_info("llama.cpp", suites={"properties/ties": "0" * 64})
    matrix = of(bundle_of(tmp_path / "b", info, [of_ties("top_k", got())]))
    assert matrix.properties[0].changed
    assert "the suite of a bundle was another" in html(document(matrix))
    assert "the suite of a bundle was another" not in html(document(made(tmp_path / "same")))


def test_a_property_that_is_none_of_ours_has_its_name_alone(tmp_path: Path) -> None:
    odd = case("odd/a", {"llama.cpp": got()}, suite="properties/odd_one")
    matrix = of(bundle_of(tmp_path / "b", run_info("llama.cpp"), [odd]))
    assert (matrix.properties[0].title, matrix.properties[0].cases) == ("odd one", {})


def test_one_engine_next_to_llama_cpp_needs_no_matrix_of_samplers(tmp_path: Path) -> None:
    one = bundle_of(tmp_path / "a", run_info("tsampler"), [case("c", {"tsampler": got()})])
    other = bundle_of(tmp_path / "b", run_info("power_law"), [case("c", {"power_law": got()})])
    assert matrix_of([one], {}) is None
    assert matrix_of([one, other], {}) is not None


def test_samplers_of_an_engines_own_have_one_column_and_none_of_the_references(
    tmp_path: Path,
) -> None:
    names = ("reference", "akunu/cpu", "tsampler")
    cases = [
        case("a", {"reference": got(), "akunu/cpu": got()}, samplers=["akunu"]),
        case("t", {"reference": got(), "tsampler": got()}, samplers=["tsampler", "top_k"]),
    ]
    matrix = of(bundle_of(tmp_path / "b", run_info(*names), cases))
    assert matrix.samplers == ["own words", "top_k"]
    judged = {e.name: [cell.judged for cell in e.samplers] for e in matrix.engines}
    assert judged == {"reference": [0, 1], "akunu/cpu": [1, 0], "tsampler": [1, 1]}


def test_the_distribution_of_an_engines_draws_stands_next_to_its_properties(tmp_path: Path) -> None:
    cell = cell_on("transformers", "equivalent", 0.0, 0.01, "draws/a")
    drawn = read_back(tmp_path / "d", run_info("transformers"), [], [cell])
    matrix = of(read_finished(properties_in(tmp_path / "b")), drawn, why=WHY)
    of_draws = engine(matrix, "transformers").law
    assert of_draws is not None
    assert (of_draws.tests, of_draws.equivalent, of_draws.met) == (1, 1, 1)
    assert "distribution.html" in html(document(matrix))


def test_the_reference_is_none_of_the_engines_that_ran(tmp_path: Path) -> None:
    matrix = made(tmp_path / "b")
    reference = engine(matrix, "llama.cpp").model_copy(update={"name": "reference"})
    beside = matrix.model_copy(update={"engines": [*matrix.engines, reference]})
    assert headlines(beside) == headlines(matrix)


def test_engines_of_the_list_that_are_in_no_bundle_are_named_with_their_command(
    tmp_path: Path,
) -> None:
    absent = {each.name: each for each in made(tmp_path / "b").absent}
    assert "transformers" not in absent
    assert absent["tsampler"].needs == "Node.js and `make tsampler`"
    assert absent["tsampler"].command == "sampler-parity run tsampler properties -b tsampler"


def test_untrusted_text_is_escaped(tmp_path: Path) -> None:
    hostile = got("diverged", stage="ties", what=HOSTILE, values={"got": HOSTILE}, detail=HOSTILE)
    matrix = of(bundle_of(tmp_path / "b", run_info("llama.cpp"), [of_ties("top_k", hostile)]))
    assert "<script>alert" not in html(document(matrix))
    assert "<script>alert" not in markdown(document(matrix))
    assert "@you" not in markdown(document(matrix))


FILTER = """(page) => {
  const field = page.querySelector('.filter input[type=search]');
  const say = (type, target) => target.dispatchEvent(new page.defaultView.Event(type));
  field.value = 'ties mine'; say('input', field);
  const table = page.querySelector('table.facets');
  const shown = (cells) => [...cells].filter((cell) => !cell.hidden)
    .map((cell) => cell.textContent.trim().split(/\\s/)[0]);
  const heads = shown(table.tHead.rows[0].cells);
  const rows = shown(table.tBodies[0].rows);
  field.value = ''; page.querySelector('.filter input[type=checkbox]').click();
  const differ = shown(table.tBodies[0].rows);
  page.defaultView.location.hash = table.querySelector('td a').getAttribute('href');
  return JSON.stringify([heads, rows, differ]);
}"""


@pytest.mark.slow
def test_the_page_is_filtered_by_engine_by_property_and_by_what_differs(
    see: See, tmp_path: Path
) -> None:
    wide, phone = see(html(document(made(tmp_path / "b"))), 1280, 390, act=FILTER)
    assert wide.answer == '[["Engine","ties"],["mine"],["transformers","mine"]]'
    assert (wide.console, phone.scroll_width) == ([], 390)
