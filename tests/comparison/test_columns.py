"""harness/comparison/columns.py: differences between bundles, and cases that are not comparable."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.comparison.columns import compare
from sampler_parity.harness.comparison.records import BundleComparison
from sampler_parity.harness.errors import InputError
from tests.support.report_bundles import HOSTILE, case, got, read_back, run_info
from tests.support.several_bundles import (
    DIGESTS,
    bundle_on,
    cell_on,
    decoded_on,
    text_of,
    timing_on,
)


def compared(*bundles: Bundle) -> BundleComparison:
    comparison = compare(list(bundles))
    assert comparison is not None
    return comparison


def fact(comparison: BundleComparison, name: str) -> list[str]:
    return next(f.values for f in comparison.facts if f.name == name)


def test_bundles_with_the_same_verdicts_are_ok(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical", "y": "reordered"})
    two = bundle_on(tmp_path / "b", {"y": "reordered", "x": "identical"})
    comparison = compared(one, two)
    assert comparison.ok
    assert [(c.bundle, c.base, c.common, c.differing) for c in comparison.columns] == [
        ("a", None, 0, 0),
        ("b", 0, 2, 0),
    ]
    assert comparison.verdicts == []


def test_one_other_verdict_is_found_with_its_stage_and_cases(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical", "y": "identical", "z": "identical"})
    worse = got("reordered", stage="top_p")
    two = bundle_on(tmp_path / "b", {"x": worse, "y": "identical", "z": worse})
    comparison = compared(one, two)
    assert not comparison.ok
    assert comparison.columns[1].differing == 2
    (row,) = comparison.verdicts
    assert (row.verdicts, row.places, row.cases) == (
        ["identical", "reordered"],
        ["", "top_p"],
        ["x", "z"],
    )


@pytest.mark.parametrize("change", [{"refusal": "p is NaN"}, {"unmet": "token: expected 1, got 2"}])
def test_a_reference_that_fails_on_one_machine_alone_is_a_difference(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    info = run_info("llama.cpp")
    one = read_back(tmp_path / "a", info, [case("x", {"llama.cpp": got()})], [])
    two = read_back(tmp_path / "b", info, [case("x", {"llama.cpp": got()}, **change)], [])
    assert not compared(one, two).ok


def test_cases_of_one_bundle_alone_are_counted_and_not_compared(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical", "old": "identical"})
    two = bundle_on(tmp_path / "b", {"x": "identical", "new": "crashed", "newer": "crashed"})
    comparison = compared(one, two)
    assert comparison.ok
    column = comparison.columns[1]
    assert (column.common, column.missing, column.added, column.changed) == (1, 1, 2, 0)


def test_cases_of_a_suite_whose_file_changed_are_not_comparable(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical"}, (timing_on("llama.cpp", [5, 5]),))
    two = bundle_on(
        tmp_path / "b",
        {"x": "diverged"},
        (timing_on("llama.cpp", [5, 5]),),
        suites={"parity/top_p": "other"},
    )
    column = compared(one, two).columns[1]
    assert (column.common, column.differing, column.changed) == (0, 0, 1)


def test_a_column_with_nothing_in_common_never_passes(tmp_path: Path) -> None:
    bundles = [bundle_on(tmp_path / f"{i}", {name: "identical"}) for i, name in enumerate("xxy")]
    assert compared(*bundles[:2]).ok
    assert not compared(*bundles).ok
    assert compare([bundles[0], bundles[2]]) is None


def test_implementations_are_compared_with_themselves(tmp_path: Path) -> None:
    names = ["llama.cpp@v1:x64", "llama.cpp@v1:haswell", "tsampler"]
    cases = [case("x", {name: got() for name in names[:2]} | {"tsampler": got("diverged")})]
    one = read_back(tmp_path / "a", run_info(*names), cases, [])
    two = read_back(tmp_path / "b", run_info(*names), cases, [])
    comparison = compared(one, two)
    assert comparison.ok
    assert [column.base for column in comparison.columns] == [None, 0, None, 0, 0, 2]


def test_a_backend_that_did_not_run_is_named_and_no_column(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical"})
    info = run_info("llama.cpp", "mine", suites=DIGESTS)
    gone = info.backends["mine"].model_copy(update={"unavailable": "no GPU"})
    info = info.model_copy(update={"backends": info.backends | {"mine": gone}})
    two = read_back(tmp_path / "b", info, [case("x", {"llama.cpp": got()})], [])
    comparison = compared(one, two)
    assert len(comparison.columns) == 2
    assert [(g.bundle, g.backend, g.why) for g in comparison.unavailable] == [
        ("b", "mine", "no GPU")
    ]


def test_decisions_of_distribution_tests_count_as_verdicts(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {}, (cell_on("llama.cpp", "equivalent", 0.0, 0.05),))
    same = bundle_on(tmp_path / "b", {}, (cell_on("llama.cpp", "equivalent", 0.01, 0.06),))
    other = bundle_on(tmp_path / "c", {}, (cell_on("llama.cpp", "different", 0.2, 0.3),))
    assert compared(one, same).ok
    assert not compared(one, same).cells[0].apart
    comparison = compared(one, other)
    assert not comparison.ok
    assert comparison.cells[0].apart
    assert comparison.verdicts[0].what == "distribution"


def test_logits_are_compared_by_digest_and_by_kept_rows(tmp_path: Path) -> None:
    bundles = [
        bundle_on(folder, {"x": "identical"}, (decoded_on(folder, "llama.cpp", last),))
        for folder, last in (
            (tmp_path / "a", [0.0, 1.0, 3.0]),
            (tmp_path / "b", [0.0, 1.0, 3.0]),
            (tmp_path / "c", [0.0, 1.5, 3.0]),
            (tmp_path / "d", [0.0, 4.0, 3.0]),
        )
    ]
    same, near, far = compared(*bundles).logits
    assert (same.equal, same.prompts, same.difference) == (1, 1, 0.0)
    assert (near.equal, near.top1, near.difference) == (0, 1, 0.5)
    assert (far.equal, far.top1, far.difference) == (0, 0, 3.0)


def test_a_kept_row_that_is_missing_is_an_input_error(tmp_path: Path) -> None:
    bundles = [
        bundle_on(folder, {}, (decoded_on(folder, "llama.cpp", [0.0, 1.0]),))
        for folder in (tmp_path / "a", tmp_path / "b")
    ]
    next((tmp_path / "b" / "artifacts").iterdir()).unlink()
    with pytest.raises(InputError, match="missing or malformed - make the bundle again"):
        compare(bundles)


def test_texts_are_compared_by_their_tokens(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": text_of([1, 2]), "y": text_of([3])})
    two = bundle_on(tmp_path / "b", {"x": text_of([1, 2]), "y": text_of([4])})
    (beside,) = compared(one, two).logits
    assert (beside.texts_equal, beside.texts) == (1, 2)


def test_speed_is_a_ratio_of_medians_with_an_interval(tmp_path: Path) -> None:
    base = [100, 101, 102, 103, 104]
    one = bundle_on(tmp_path / "a", {"x": "identical"}, (timing_on("llama.cpp", base),))
    slow = [2 * ns for ns in base]
    two = bundle_on(tmp_path / "b", {"x": "identical"}, (timing_on("llama.cpp", slow),))
    (row,) = compared(one, two).speeds
    assert row.values == [102.0, 204.0]
    assert row.ratios[0] is None
    ratio = row.ratios[1]
    assert ratio is not None
    assert ratio.value == 2.0
    assert ratio.low is not None
    assert ratio.high is not None
    assert 1.9 < ratio.low <= 2.0 <= ratio.high < 2.1  # 200/104 and 208/100 are the extremes


def test_facts_that_may_explain_a_difference_are_named(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "a", {"x": "identical"}, cpu_flags=["avx", "fma"], libm="libm a")
    two = bundle_on(tmp_path / "b", {"x": "identical"}, cpu_flags=["avx", "sve"], libm="libm b")
    comparison = compared(one, two)
    assert fact(comparison, "processor features") == ["2 features", "+sve -fma"]
    assert fact(comparison, "math library") == ["libm a", "libm b"]
    assert {f.name for f in comparison.facts if f.differs} == {"processor features", "math library"}
    assert "GPU driver" not in {f.name for f in comparison.facts}


def test_bundles_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    one = bundle_on(tmp_path / "1" / "b", {"x": "identical"})
    two = bundle_on(tmp_path / "2" / "b", {"x": "identical"}, cpu=HOSTILE)
    assert [c.bundle for c in compared(one, two).columns] == ["b (1)", "b (2)"]
