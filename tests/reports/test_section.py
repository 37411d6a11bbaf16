"""parity_build.py: counts, failures, and their order."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.errors import InputError
from sampler_parity.reports.pages.parity.parity_build import report_of, section
from sampler_parity.reports.pages.parity.parity_model import Section
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info


def section_of(folder: Path, *cases: CaseResult, info: RunInfo | None = None) -> Section:
    return section(bundle_of(folder / "bundle", info or run_info("native"), list(cases)))


def test_backend_counts_cases_by_verdict(tmp_path: Path) -> None:
    part = section_of(
        tmp_path,
        case("a", {"native": got(ns=1_000_000_000, wall_s=2.0)}),
        case("b", {"native": got(ns=500_000_000, wall_s=1.0)}),
        case("c", {"native": diverged()}),
    )
    (summary,) = part.backends
    assert summary.tally.verdicts == {"identical": 2, "diverged": 1}
    assert (summary.tally.met, summary.tally.cases, summary.tally.not_run) == (2, 3, 0)
    assert (summary.backend_s, summary.wall_s) == (1.5, 3.0)
    assert (part.cases_met, part.cases, part.steps, part.wall_s) == (2, 3, 3, 2.5)
    assert not part.ok


def test_case_counts_for_the_sampler_at_which_it_first_differs(tmp_path: Path) -> None:
    chain = ["top_k", "top_p", "dist"]
    part = section_of(
        tmp_path,
        case("a", {"native": diverged(stage="top_p")}, samplers=chain),
        case("b", {"native": got()}, samplers=chain),
        case("c", {"native": got("crashed")}, samplers=["top_k"]),
    )
    rows = {row.key: row.backends["native"].verdicts for row in part.matrix}
    assert rows == {
        "top_p": {"identical": 1, "diverged": 1},
        "top_k": {"identical": 1, "crashed": 1},
        "dist": {"identical": 1},
    }


def test_case_without_a_difference_counts_once_for_every_sampler_of_its_chain(
    tmp_path: Path,
) -> None:
    part = section_of(
        tmp_path,
        case("a", {"native": got()}, samplers=["top_k", "temp", "temp"]),
        case("b", {"native": diverged(stage="top_k")}, samplers=["top_k"]),
    )
    rows = {row.key: row for row in part.matrix}
    assert rows["top_k"].backends["native"].verdicts == {"identical": 1, "diverged": 1}
    assert rows["temp"].backends["native"].verdicts == {"identical": 1}
    assert [row.key for row in part.matrix] == ["top_k", "temp"]  # the worst first


def test_allowed_difference_is_no_failure(tmp_path: Path) -> None:
    required = {"native": ["identical", "reordered"]}
    part = section_of(tmp_path, case("a", {"native": got("reordered")}, required=required))
    assert part.ok
    assert (part.failures, [d.case for d in part.accepted]) == ([], ["a"])


def test_identical_fails_where_a_divergence_is_required(tmp_path: Path) -> None:
    part = section_of(tmp_path, case("a", {"native": got()}, required={"native": ["diverged"]}))
    assert not part.ok
    assert [d.case for d in part.failures] == ["a"]


@pytest.mark.parametrize(
    ("fields", "kind", "detail"),
    [
        ({"refusal": "p is NaN"}, "refused", "p is NaN"),
        ({"unmet": "n: expected 3, got 2"}, "expectation", "n: expected 3, got 2"),
        ({"steps": 0}, "no step", "no step was taken"),
    ],
    ids=["refused", "expectation", "no step"],
)
def test_case_that_proves_nothing_fails(
    tmp_path: Path, fields: dict[str, object], kind: str, detail: str
) -> None:
    part = section_of(tmp_path, case("a", {"native": got()}, **fields))
    assert not part.ok
    assert [(p.kind, p.detail) for p in part.problems] == [(kind, detail)]
    assert part.backends[0].tally.met == 0


def test_case_without_a_result_of_a_backend_fails_as_not_run(tmp_path: Path) -> None:
    part = section_of(tmp_path, case("a", {"native": got()}), info=run_info("native", "other"))
    assert not part.ok
    assert [(p.kind, p.detail) for p in part.problems] == [("not run", "no result from other")]
    tallies = {summary.name: summary.tally for summary in part.backends}
    assert (tallies["other"].not_run, tallies["other"].met, tallies["other"].cases) == (1, 0, 1)


def test_run_without_a_case_is_not_ok(tmp_path: Path) -> None:
    assert not section_of(tmp_path).ok


def test_run_without_a_backend_is_not_ok(tmp_path: Path) -> None:
    part = section_of(tmp_path, case("a", {}), info=run_info())
    assert not part.ok
    assert [p.detail for p in part.problems] == ["no backend of the run runs here"]


def test_failures_come_worst_first(tmp_path: Path) -> None:
    part = section_of(
        tmp_path,
        case("a", {"native": got("close")}),
        case("b", {"native": diverged()}),
        case("d", {"native": got("timeout")}),
    )
    assert [d.case for d in part.failures] == ["d", "b", "a"]
    assert [group.verdict for group in part.findings] == ["timeout", "diverged", "close"]


def test_replay_names_suite_case_seed_and_backend(tmp_path: Path) -> None:
    part = section_of(
        tmp_path, case("a b", {"native": diverged()}), info=run_info("native", seed=7)
    )
    assert part.failures[0].replay == (
        "sampler-parity run parity/top_p --case 'a b' --seed 7 -b native"
    )


def test_non_finite_values_survive_the_way_through_a_bundle(tmp_path: Path) -> None:
    bad = diverged(values={"got": float("-inf"), "expected": float("nan")})
    part = section_of(tmp_path, case("a", {"native": bad}))
    assert part.failures[0].values == {"got": "-inf", "expected": "nan"}


def test_slowest_cases_are_ordered_by_reference_and_backends_together(tmp_path: Path) -> None:
    cases = [case(str(i), {"native": got(wall_s=i)}, reference_s=20 - 2 * i) for i in range(20)]
    part = section_of(tmp_path, *cases)
    assert [slow.case for slow in part.slowest] == [str(i) for i in range(15)]


def test_result_of_a_backend_that_run_json_lacks_is_refused(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path / "x", run_info("native"), [case("a", {"ghost": got()})])
    with pytest.raises(InputError, match=r"case a: backend ghost is not in run\.json"):
        section(bundle)


def test_one_failing_bundle_makes_the_report_fail(tmp_path: Path) -> None:
    good = bundle_of(tmp_path / "good", run_info("native"), [case("a", {"native": got()})])
    bad = bundle_of(tmp_path / "bad", run_info("native"), [case("a", {"native": diverged()})])
    assert report_of([good]).ok
    report = report_of([good, bad])
    assert not report.ok
    assert [(part.bundle, part.ok) for part in report.sections] == [("good", True), ("bad", False)]
