"""Two nights of bundles: every planted change is named with its kind, and nothing else is named."""

from pathlib import Path

import pytest

from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.verdicts import Verdict
from scripts.nightly_diff.__main__ import ROWS, main, markdown, summary
from scripts.nightly_diff.changes import WORSE, NightlyChange, changes, read_night
from tests.support.gate_bundles import finished
from tests.support.report_bundles import case, got, run_info
from tests.support.several_bundles import cell_on

SUITES = {"parity/top_p": "d1", "parity/findings": "d2", "parity/dist": "d3"}


def asked(name: str, verdict: Verdict, suite: str = "parity/top_p") -> CaseResult:
    return case(name, {"mine": got(verdict)}, suite=suite, required={"mine": ["identical"]})


def night(folder: Path, *records: object, place: str = "a", **suites: str) -> Path:
    info = run_info("mine", suites=SUITES | suites)
    finished(folder / place, [*records], info)  # type: ignore[list-item]
    return folder


def changed(tmp_path: Path) -> list[NightlyChange]:
    return changes(read_night(tmp_path / "before"), read_night(tmp_path / "after"))


def test_two_equal_nights_have_no_change(tmp_path: Path) -> None:
    for name in ("before", "after"):
        night(tmp_path / name, asked("top_p/a", "identical"), asked("top_p/b", "diverged"))
    assert changed(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "suite", "kind"),
    [
        ("identical", "diverged", "parity/top_p", "worse"),
        ("identical", "crashed", "parity/top_p", "worse"),
        ("diverged", "crashed", "parity/top_p", "changed"),
        ("diverged", "identical", "parity/top_p", "fixed"),
        ("identical", "diverged", "parity/findings", "fixed"),
        ("identical", "crashed", "parity/findings", "worse"),
        ("identical", "skipped", "parity/top_p", "gone"),
        ("skipped", "identical", "parity/top_p", "new"),
    ],
)
def test_a_verdict_that_changed_is_named_with_its_kind(
    tmp_path: Path, before: Verdict, after: Verdict, suite: str, kind: str
) -> None:
    for name, verdict in (("before", before), ("after", after)):
        night(tmp_path / name, asked("top_p/a", verdict, suite), asked("top_p/b", "identical"))
    (change,) = changed(tmp_path)
    assert (change.kind, change.subject, change.backend) == (kind, "top_p/a", "mine")
    assert change.before.startswith(before)
    assert change.after.startswith(after)
    assert change.finding == (suite == "parity/findings")


def test_cases_that_are_no_longer_asked_are_counted_by_suite(tmp_path: Path) -> None:
    every = [asked(f"top_p/{i}", "identical") for i in range(3)]
    night(tmp_path / "before", *every)
    night(tmp_path / "after", *every[:1])
    (change,) = changed(tmp_path)
    assert (change.kind, change.subject, change.before) == ("gone", "cases of parity/top_p", "2")


def test_a_case_of_a_suite_that_changed_is_not_compared(tmp_path: Path) -> None:
    night(tmp_path / "before", asked("top_p/a", "identical"))
    night(tmp_path / "after", asked("top_p/a", "diverged"), **{"parity/top_p": "d9"})
    assert changed(tmp_path) == []


def test_an_engine_that_disappeared_is_named_with_its_reason(tmp_path: Path) -> None:
    night(tmp_path / "before", asked("top_p/a", "identical"))
    info = run_info("mine", "other", suites=SUITES)
    info.backends["mine"] = BackendInfo(command=[], unavailable="no such package")
    finished(tmp_path / "after" / "a", [case("top_p/a", {"other": got()})], info)
    gone, new = changed(tmp_path)
    assert (gone.kind, gone.backend, gone.after) == ("gone", "mine", "no such package")
    assert (new.kind, new.backend) == ("new", "other")


def test_a_bundle_and_a_version_of_one_night_alone_are_named(tmp_path: Path) -> None:
    a = asked("top_p/a", "identical")
    night(tmp_path / "before", a)
    night(tmp_path / "before", a, place="engines/rwkv")
    info = run_info("mine", suites=SUITES)
    info.backends["mine"] = BackendInfo(command=[], version="2.0")
    finished(tmp_path / "after" / "a", [a], info)
    gone, version = changed(tmp_path)
    assert (gone.kind, gone.bundle) == ("gone", "engines/rwkv")
    assert (version.kind, version.before, version.after) == ("version", "1.0", "2.0")


def test_a_distribution_test_that_is_decided_otherwise_is_worse(tmp_path: Path) -> None:
    for name, decision in (("before", "equivalent"), ("after", "different")):
        cell = cell_on("mine", decision, 0.0, 0.1)  # type: ignore[arg-type]
        night(tmp_path / name, cell)
    (change,) = changed(tmp_path)
    assert (change.kind, change.before) == ("worse", "equivalent")
    assert change.after == "different, not as required"


def test_the_page_says_what_changed_and_the_status_whether_it_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night(tmp_path / "before", asked("top_p/a", "identical"), asked("top_p/b", "diverged"))
    night(tmp_path / "after", asked("top_p/a", "diverged"), asked("top_p/b", "identical"))
    words = [str(tmp_path / name) for name in ("before", "after", "night.md")]
    assert main(words) == 1
    text = (tmp_path / "night.md").read_text()
    assert "1 bundles: 1 no longer as required; 1 fixed." in text
    assert text.index("## No longer as required") < text.index("## Fixed")
    row = "<code>mine</code> | <code>top&#95;p/a</code> | identical | diverged, not as required |"
    assert row in text
    assert main([words[1], words[1], words[2]]) == 0
    assert "1 bundles: nothing changed." in (tmp_path / "night.md").read_text()
    assert "night    1 bundles, nothing changed" in capsys.readouterr().out


def test_without_a_night_before_the_page_says_so(tmp_path: Path) -> None:
    night(tmp_path / "after", asked("top_p/a", "identical"))
    page = tmp_path / "night.md"
    assert main([str(tmp_path / "nothing"), str(tmp_path / "after"), str(page)]) == 0
    assert "no night before to compare with" in page.read_text()


@pytest.mark.parametrize(
    ("torn", "message"), [(True, "did not finish"), (False, "has no bundle")], ids=["torn", "empty"]
)
def test_a_night_without_bundles_or_with_a_torn_one_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], torn: bool, message: str
) -> None:
    after = night(tmp_path / "before", asked("top_p/a", "identical")).parent / "after"
    after.mkdir()
    if torn:
        night(after, asked("top_p/a", "identical"))
        path = after / "a" / "results.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert main([str(tmp_path / "before"), str(after), str(tmp_path / "n.md")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "n.md").exists()


def test_a_long_table_is_cut_and_says_so() -> None:
    one = NightlyChange("worse", "a", "mine", "x|<b>", "identical", "diverged")
    text = markdown([one] * (ROWS + 5), 1)
    assert text.count("| <code>a</code> |") == ROWS
    assert "5 more, which the bundles have." in text
    assert "x&#124;&lt;b&gt;" in text
    assert "<b>" not in text
    assert summary([one]) == "1 no longer as required"
    assert one.kind in WORSE
