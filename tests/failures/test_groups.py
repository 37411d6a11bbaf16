"""Failures in groups: their order, their text and their keys."""

from typing import Any

import pytest

from sampler_parity.harness.bundle.records import BackendResult, CaseResult, CounterexampleResult
from sampler_parity.harness.failures.format_difference import lines
from sampler_parity.harness.failures.groups import WORST_FIRST, Group, groups
from sampler_parity.harness.verdicts import ORDER
from tests.support.report_bundles import case, diverged, got, run_info

INFO = run_info("mine", "other")
AT_RANK = {"rank": 0, "id": 1, "got": 2, "expected": 1}


def counted(kept: int, wanted: int, **fields: Any) -> BackendResult:
    """More or fewer survive than should."""
    values = {"survivors": {"got": kept, "expected": wanted}}
    return diverged(what="survivors", values=values, **fields)


def value(what: str, **values: Any) -> BackendResult:
    return diverged(what=what, values={"survivors": {"got": 3, "expected": 3}} | values)


def of(*cases: CaseResult) -> list[Group]:
    return groups(INFO, cases)


def test_every_verdict_has_its_place_among_the_worst() -> None:
    assert sorted(WORST_FIRST) == sorted(ORDER)


def test_cases_with_one_cause_are_one_group_with_their_number() -> None:
    cases = [case(f"c{i:03}", {"mine": counted(i + 3, i + 2)}) for i in range(228)]
    (group,) = of(*cases)
    assert group.text == "228 cases diverge at top_p: keeps one more than p allows"
    assert group.cases == [c.id for c in cases]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (counted(3, 2), "diverges at top_p: keeps one more than p allows"),
        (counted(2, 5), "diverges at top_p: keeps 3 fewer than p allows"),
        (counted(0, 5), "diverges at top_p: keeps no token"),
        (counted(2, 3, stage="top_k"), "diverges at top_k: keeps one fewer than k allows"),
        (counted(2, 3, stage="grammar"), "keeps one fewer than the reference"),
        (counted(2, 3, step=4), "keeps one fewer than p allows, never before step 5"),
        (value("ids", others=0, **AT_RANK), "the right tokens in another order"),
        (value("ids", others=2, **AT_RANK), "keeps as many tokens, but others"),
        (value("logits", got=1.5, expected="-inf"), "leaves a logit that the reference makes -inf"),
        (value("logits", got=1.5, expected=1.25), "diverges at top_p: gives other logits"),
        (value("p", got=0.5, expected=0.0), "writes probabilities where the reference leaves 0"),
        (value("selected", got=3, expected=None), "a token where the reference selects none"),
        (value("sorted", got=True, expected=False), "reports unsorted candidates as sorted"),
        (got("crashed", detail="exit status 1: bad\nat f"), "crashes: exit status 1: bad"),
        (got("timeout"), "takes too long: no reason was given"),
        (got("unsupported", detail="no sampler xtc"), "is not supported: no sampler xtc"),
    ],
)
def test_a_group_says_what_differs_from_the_data(result: BackendResult, text: str) -> None:
    (group,) = of(case("a", {"mine": result}))
    assert group.text.startswith("1 case ")
    assert group.text.endswith(text)


def test_the_range_by_which_the_count_is_wrong_is_reported() -> None:
    more = counted(60, 3, stage_index=0)
    (group,) = of(case("a", {"mine": counted(3, 2)}), case("b", {"mine": more}))
    assert group.text == "2 cases diverge at top_p: keeps 1 to 57 more than p allows"


def test_the_worst_verdict_comes_first_then_the_largest_group() -> None:
    cases = [
        case("u", {"mine": got("unsupported", detail="no sampler xtc")}),
        case("n", {"mine": value("logits", got=1.0, expected=2.0)}),
        case("d1", {"mine": counted(3, 2)}),
        case("d2", {"mine": counted(4, 3)}),
        case("k", {"mine": got("close", stage="temp", what="logits")}),
        case("x", {"mine": got("crashed", detail="signal SIGSEGV")}),
    ]
    assert [(g.verdict, g.what) for g in of(*cases)] == [
        ("crashed", "said"),
        ("diverged", "more"),
        ("diverged", "logits"),
        ("close", "logits"),
        ("unsupported", "lacks"),
    ]


def test_what_the_suite_of_the_sampler_itself_shows_comes_before_more_cases() -> None:
    cases = [
        case("a", {"mine": counted(3, 2)}, suite="parity/penalties"),
        case("b", {"mine": counted(4, 2)}, suite="parity/penalties"),
        case("c", {"mine": got("diverged", stage="penalties", what="p")}, suite="parity/penalties"),
    ]
    assert [(g.stage, len(g.cases)) for g in of(*cases)] == [("penalties", 1), ("top_p", 2)]


def test_what_stopped_a_backend_comes_before_what_was_not_run_for_it() -> None:
    cases = [
        case("a", {"mine": got("crashed", detail="not run: no reply in 5 cases")}),
        case("b", {"mine": got("crashed", detail="not run: no reply in 5 cases")}),
        case("c", {"mine": got("crashed", detail="no reply")}),
    ]
    assert [group.cases for group in of(*cases)] == [["c"], ["a", "b"]]


def test_crashes_that_differ_in_their_numbers_alone_are_one_group() -> None:
    cases = [
        case("a", {"mine": got("crashed", detail="index 7 of 0x7f1 at line 12")}),
        case("b", {"mine": got("crashed", detail="index 12 of 0x2a at line 12")}),
        case("c", {"mine": got("crashed", detail="out of memory")}),
    ]
    assert sorted(group.cases for group in of(*cases)) == [["a", "b"], ["c"]]


def test_what_a_case_allows_is_in_no_group() -> None:
    allowed = case("a", {"mine": counted(3, 2)}, required={"mine": ["diverged"]})
    assert of(allowed, case("b", {"mine": got()})) == []


def test_the_example_is_the_minimized_case_else_the_one_with_the_shortest_chain() -> None:
    long = case("a", {"mine": counted(3, 2)}, samplers=["temp", "top_p"])
    short = case("b", {"mine": counted(4, 3)}, why="one too many", samplers=["top_p"])
    (group,) = of(long, short)
    assert (group.example.case, group.example.why) == ("b", "one too many")
    assert group.example.values["survivors"] == {"got": 4, "expected": 3}
    assert group.example.replay == "sampler-parity run parity/top_p --case b -b mine"
    small = {"chain": [{"top_p": {"p": 0.5}}], "logits": {"rows": [[1.0, 0.5]]}}
    values = counted(2, 1)
    record = CounterexampleResult(
        id="a on mine", case="a", backend="mine", smaller=small, result=values, got=[0, 1],
        expected=[0],
    )  # fmt: skip
    (group,) = groups(INFO, [long, short], [record])
    assert (group.example.case, group.cases) == ("a", ["a", "b"])
    assert group.example.small is not None
    assert group.example.small.values == values.values
    assert (group.example.small.samplers, group.example.small.case) == (["top_p"], small)
    assert list(lines(group, "mine 1.0"))[:4] == [
        "2 cases diverge at top_p: keeps one more than p allows",
        "  smallest input: top_p p=0.5 on [1.0, 0.5]",
        "  survivors: got 2, expected 1",
        "  ids left: got 0, 1, expected 0",
    ]


def test_why_nothing_was_minimized_is_reported_with_the_case_that_was_tried() -> None:
    cases = [case(name, {"mine": counted(3, 2)}) for name in "ab"]
    record = CounterexampleResult(id="b on mine", case="b", backend="mine", said="by chance")
    (group,) = groups(INFO, cases, [record])
    assert (group.example.case, group.example.small, group.example.said) == ("b", None, "by chance")
    assert "  by chance" in lines(group, "mine 1.0")


def test_a_counterexample_of_a_bundle_of_before_is_of_the_first_backend_that_differs() -> None:
    results = {"x": got(), "y": counted(3, 2), "z": counted(3, 2)}
    old = case("a", results, counterexample={"steps": 1})
    small = {group.backend: group.example.small for group in groups(run_info("x", "y", "z"), [old])}
    assert small["z"] is None
    assert small["y"] is not None
    assert small["y"].case == {"steps": 1}


def test_anchors_are_stable_and_tell_groups_apart() -> None:
    cases = [
        case("a", {"mine": counted(3, 2), "other": counted(3, 2)}),
        case("b", {"mine": counted(2, 3), "other": got("crashed", detail="a")}),
        case("c", {"mine": got(), "other": got("crashed", detail="b")}),
    ]
    anchors = [group.anchor for group in of(*cases)]
    assert len(set(anchors)) == len(anchors) == 5
    assert anchors == [group.anchor for group in of(*cases[::-1])]
    assert all(set(anchor) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for anchor in anchors)
    assert any(anchor.startswith("mine-diverged-top_p-more-") for anchor in anchors)


def test_what_is_lacking_is_one_group_of_a_backend() -> None:
    lacks = ("no sampler xtc", "no sampler xtc, dry", "no sampler dry", "no sampler xtc")
    cases = [
        case(f"u{i}", {"mine": got("unsupported", detail=text)}) for i, text in enumerate(lacks)
    ]
    (group,) = of(*cases, case("v", {"mine": got("unsupported", detail="draws nothing")}))
    assert group.text == "5 cases are not supported: no sampler xtc, dry; draws nothing"


def test_what_is_skipped_comes_last_with_what_is_not_claimed() -> None:
    cases = [case(f"s{i}", {"mine": got("skipped", detail="no sampler xtc")}) for i in range(9)]
    failed = case("d", {"mine": got("close", what="p")}, samplers=["temp"])
    assert [group.text for group in of(*cases, failed)] == [
        "1 case differs in last digits: gives other probabilities",
        "9 cases are skipped: no sampler xtc",
    ]


def test_what_a_program_printed_stands_with_its_crash_line_by_line() -> None:
    detail = "exit status 1: RangeError: bad\n/a.js:1\nRangeError: bad\n    at f"
    (group,) = of(case("a", {"mine": got("crashed", detail=detail)}, why="w"))
    assert list(lines(group, "mine 1.0")) == [
        "1 case crashes: exit status 1: RangeError: bad",
        "  CRASHED a   mine 1.0",
        "  | /a.js:1",
        "  | RangeError: bad",
        "  | at f",
        "  case tests: w",
        "  required: identical",
        "  replay: sampler-parity run parity/top_p --case a -b mine",
    ]
