"""The parity page for JUnit: valid, with right counts, and failures for failed cases."""

from pathlib import Path
from xml.etree import ElementTree

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_summary import junit_tests
from sampler_parity.reports.writers.ci import junit
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info


def parsed(*bundles: Bundle) -> ElementTree.Element:
    text = junit(junit_tests(report_of(list(bundles)), list(bundles)))
    return ElementTree.fromstring(text.encode())


def counts(node: ElementTree.Element) -> tuple[str | None, ...]:
    return tuple(node.get(key) for key in ("tests", "failures", "errors", "skipped"))


def test_junit_has_a_suite_for_every_suite_file_and_backend(tmp_path: Path) -> None:
    both = {"x": got(), "y": diverged()}
    cases = [case("a", both), case("b", both), case("c", both, suite="parity/temp")]
    root = parsed(bundle_of(tmp_path / "bundle", run_info("x", "y"), cases))
    assert {suite.get("name"): counts(suite) for suite in root} == {
        "bundle: parity/top_p on x": ("2", "0", "0", "0"),
        "bundle: parity/top_p on y": ("2", "2", "0", "0"),
        "bundle: parity/temp on x": ("1", "0", "0", "0"),
        "bundle: parity/temp on y": ("1", "1", "0", "0"),
    }
    assert counts(root) == ("6", "3", "0", "0")


def test_junit_outcome_follows_the_verdict_and_what_is_required(tmp_path: Path) -> None:
    cases = [
        case("passes", {"x": got(wall_s=0.5)}),
        case("diverged", {"x": diverged()}),
        case("crashed", {"x": got("crashed", detail="SIGSEGV")}),
        case("timeout", {"x": got("timeout")}),
        case("unsupported", {"x": got("unsupported")}),
        case("allowed", {"x": got("reordered")}, required={"x": ["reordered"]}),
        case("lacks", {"x": got("unsupported", detail="no dry")}, required={"x": ["unsupported"]}),
        case("refused", {"x": got()}, refusal="p is NaN"),
        case("absent", {}),
    ]
    root = parsed(bundle_of(tmp_path / "bundle", run_info("x"), cases))
    outcomes = {
        test.get("name"): [f"{child.tag}: {child.get('message')}" for child in test]
        for test in root.iter("testcase")
    }
    without_reason = "no reason was given |"
    assert outcomes == {
        "passes": [],
        "diverged": [
            "failure: 1 case diverges at top_p: keeps 63 fewer than p allows |"
            " diverged, required identical; top_p, step 1 of 1;"
            " survivors: got 10395, expected 10458;"
            " p at rank 7 (id 4711): got 0.25, expected 0.5",
        ],
        "crashed": ["error: 1 case crashes: SIGSEGV | crashed, required identical; SIGSEGV"],
        "timeout": [f"error: 1 case takes too long: {without_reason} timeout, required identical"],
        "unsupported": [
            f"failure: 1 case is not supported: {without_reason} unsupported, required identical"
        ],
        "allowed": [],
        "lacks": ["skipped: unsupported: no dry"],
        "refused": ["failure: refused: p is NaN"],
        "absent": ["error: no result from this backend"],
    }
    assert counts(root) == ("9", "3", "3", "1")
    assert root.get("time") == "0.500000"


def test_junit_failure_ends_with_the_command_that_replays_it(tmp_path: Path) -> None:
    root = parsed(bundle_of(tmp_path / "x", run_info("x"), [case("a", {"x": diverged()})]))
    (failure,) = root.iter("failure")
    assert (failure.text or "").endswith("\nreplay: sampler-parity run parity/top_p --case a -b x")


def test_junit_failure_names_the_smallest_case_of_its_group(tmp_path: Path) -> None:
    long = {"samplers": ["temp", "top_p"], "why": "long"}
    cases = [
        case("a", {"x": diverged()}, **long),
        case("b", {"x": diverged()}, why="one too many"),
    ]
    root = parsed(bundle_of(tmp_path / "x", run_info("x"), cases))
    bodies = {test.get("name"): test[0].text or "" for test in root.iter("testcase")}
    assert "the smallest like it:" in bodies["a"]
    assert "case tests: one too many" in bodies["a"]
    assert "the smallest like it:" not in bodies["b"]


def test_a_control_character_of_a_backend_leaves_the_file_well_formed(tmp_path: Path) -> None:
    odd = case("skipped", {"x": got("skipped", detail="no\x01 \ufffe \x1b[31mdry")})
    (test,) = parsed(bundle_of(tmp_path / "bundle", run_info("x"), [odd])).iter("testcase")
    assert [(child.tag, child.get("message")) for child in test] == [
        ("skipped", "not claimed: no\\x01 \\ufffe \\x1b[31mdry")
    ]
