"""The table of drift across releases: from bundles of builds judged by their own release."""

from pathlib import Path

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult, ChangeResult
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.releases import CHANGES
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.pages.parity.parity_releases import Drift, DriftCell
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.report_bundles import case, diverged, got, read_back, run_info

CHANGE = next(change for change in CHANGES if change.samplers == ("top_n_sigma",))


def of(release: str, cases: list[CaseResult], folder: Path, changes: int = 0) -> Bundle:
    facts = BackendInfo(
        command=["x", "-m", "sampler_parity.harness.backends.worker"],
        version=release,
        reference=release,
    )
    info = run_info().model_copy(update={"backends": {f"llama.cpp@{release}": facts}})
    records = [
        ChangeResult(
            id=f"change/{CHANGE.name}",
            samplers=["top_n_sigma"],
            last_old="b4753",
            first_new="b5590",
            old="<old>",
            new="<new>",
            cases={f"llama.cpp@{release}": changes},
            backend=f"llama.cpp@{release}",
            suite="parity/top_n_sigma",
            case="a",
            result=diverged(),
        )
    ][: 1 if changes else 0]
    return read_back(folder / release, info, cases, records)


def drift_of(*bundles: Bundle) -> Drift:
    drift = report_of(list(bundles)).drift
    assert drift is not None
    return drift


def sigma(
    name: str, release: str, result: BackendResult, required: Verdict = "identical"
) -> CaseResult:
    backend = f"llama.cpp@{release}"
    return case(name, {backend: result}, samplers=["top_n_sigma"], required={backend: [required]})


def three(folder: Path) -> list[Bundle]:
    """b3889 lacks the sampler, b4753 has another meaning in one case of two, v0.5.0 is itself."""
    lacks = got("unsupported")
    other, same = got(changes=[CHANGE.name]), got(changes=[])
    return [
        of("v0.5.0", [sigma("a", "v0.5.0", got()), sigma("b", "v0.5.0", got())], folder),
        of("b4753", [sigma("a", "b4753", other), sigma("b", "b4753", same)], folder, 1),
        of("b3889", [sigma(name, "b3889", lacks, "unsupported") for name in "ab"], folder),
    ]


def test_releases_of_several_bundles_stand_in_one_table_by_age(tmp_path: Path) -> None:
    drift = drift_of(*three(tmp_path))
    assert [column.release for column in drift.columns] == ["b3889", "b4753", "v0.5.0"]
    (row,) = drift.rows
    same = DriftCell(cases=2, identical=2, lacking=0, unknown=0, undefined=0, changed=0, changes={})
    assert row.cells == [
        same.model_copy(update={"identical": 0, "lacking": 2}),
        same.model_copy(update={"changed": 1, "changes": {CHANGE.name: 1}}),
        same,
    ]
    assert row.verdict == "new in b4753, another meaning up to b4753"


def test_a_case_that_its_own_release_does_not_explain_is_reported_first(tmp_path: Path) -> None:
    bundle = of("b4753", [sigma("a", "b4753", diverged()), sigma("b", "b4753", got())], tmp_path)
    assert drift_of(bundle).rows[0].verdict == "not explained in b4753"
    assert "1/2 not explained" in html(document(report_of([bundle])))
    assert "**1/2 not explained**" in markdown(document(report_of([bundle])))


def test_what_nobody_knows_how_to_call_is_not_reported_as_missing(tmp_path: Path) -> None:
    """b4529 has the sampler, but is between two known signatures: neither lacking nor explained."""
    unknown = of("b4529", [sigma("a", "b4529", got("unsupported"))], tmp_path)
    bundles = [unknown, *three(tmp_path)[:1]]
    (row,) = drift_of(*bundles).rows
    assert (row.cells[0].unknown, row.cells[0].lacking, row.cells[0].unexplained) == (1, 0, 0)
    assert row.verdict == "not known in b4529, the same meaning in all that were judged"
    for text in (html(document(report_of(bundles))), markdown(document(report_of(bundles)))):
        assert "1/1 not known" in text
        assert "not in it" not in text


def test_a_release_that_was_judged_by_its_neighbours_is_reported_as_such(tmp_path: Path) -> None:
    """top_n_sigma changed after b4980 and by b5590; b5000 lies between, b5640 does not."""
    between = "b5000"
    assert CHANGE.in_force(between) is None
    bundles = [of(name, [sigma("a", name, got())], tmp_path) for name in (between, "b5640")]
    report = report_of(bundles)
    (row,) = drift_of(*bundles).rows
    assert [cell.by_neighbours for cell in row.cells] == [True, False]
    assert row.verdict.startswith(f"judged by its neighbours in {between}, ")
    assert html(document(report)).count("by its neighbours</div>") == 1
    assert "as v0.5.0, by its neighbours |" in markdown(document(report))


def test_what_is_undefined_in_a_release_is_counted_apart(tmp_path: Path) -> None:
    refused = case("a", {"llama.cpp@b4753": got("rejected")}, samplers=["top_n_sigma"])
    refused = refused.model_copy(update={"required": {"llama.cpp@b4753": ["rejected"]}})
    bundle = of("b4753", [refused, sigma("b", "b4753", got())], tmp_path)
    report = report_of([bundle])
    (cell,) = drift_of(bundle).rows[0].cells
    assert (cell.undefined, cell.unexplained) == (1, 0)
    assert "1 undefined" in html(document(report))
    assert "1 undefined" in markdown(document(report))


def test_a_change_is_shown_with_its_command_and_its_texts_escaped(tmp_path: Path) -> None:
    report = report_of(three(tmp_path))
    page, text = html(document(report)), markdown(document(report))
    assert "&lt;old&gt;" in page
    assert "<old>" not in page
    assert "run parity/top_n_sigma --case a -b llama.cpp@b4753" in page
    assert CHANGE.name in text
    assert "<old>" not in text


def test_a_case_counts_for_a_sampler_only_by_the_changes_of_that_sampler(tmp_path: Path) -> None:
    chained = case(
        "a", {"llama.cpp@b4753": got(changes=[CHANGE.name])}, samplers=["temp", "top_n_sigma"]
    )
    drift = drift_of(of("b4753", [chained], tmp_path))
    changed = {row.sampler: row.cells[0].changed for row in drift.rows}
    assert changed == {"temp": 0, "top_n_sigma": 1}
