"""`explain`: a bundle, group by group."""

from pathlib import Path

from sampler_parity.harness.cli.bundle_summary import next_command
from sampler_parity.harness.failures.explain import overview
from tests.support.report_bundles import bundle_of, case, diverged, got, run_info


def test_explain_of_a_bundle_tells_of_each_group_with_its_smallest_case(tmp_path: Path) -> None:
    small = {"chain": [{"top_p": {"p": 0.5}}], "logits": {"rows": [[2.0, 1.5]]}, "steps": 1}
    cases = [
        case("a", {"mine": diverged(stage="temp")}, samplers=["temp"]),
        case("b", {"mine": diverged()}, why="one too many", counterexample=small),
        case("c", {"mine": diverged()}),
        *(case(f"u{i}", {"mine": got("unsupported", detail="no sampler xtc")}) for i in range(3)),
    ]
    bundle = bundle_of(tmp_path / "b", run_info("mine"), cases)
    assert list(overview(bundle.folder)) == [
        "2 cases diverge at top_p: keeps 63 fewer than p allows",
        "  smallest input: top_p p=0.5 on [2.0, 1.5], steps 1",
        "  survivors: got 10395, expected 10458",
        "  p at rank 7 (id 4711): got 0.25, expected 0.5",
        "  DIVERGED b   mine 1.0, top_p, step 1 of 1",
        "  case tests: one too many",
        "  required: identical",
        "  replay: sampler-parity run parity/top_p --case b -b mine",
        "1 case diverges at temp: keeps 63 fewer than the reference",
        "  survivors: got 10395, expected 10458",
        "  p at rank 7 (id 4711): got 0.25, expected 0.5",
        "  DIVERGED a   mine 1.0, temp, step 1 of 1",
        "  required: identical",
        "  replay: sampler-parity run parity/top_p --case a -b mine",
        "3 cases are not supported: no sampler xtc   mine 1.0",
        f"one case: sampler-parity explain {bundle.folder} b",
    ]


def test_explain_of_a_bundle_without_failures_says_so(tmp_path: Path) -> None:
    bundle = bundle_of(
        tmp_path / "b",
        run_info("mine"),
        [case("a", {"mine": got()}), case("b", {"mine": got("skipped", detail="no sampler x")})],
    )
    assert list(overview(bundle.folder)) == [
        "1 case is skipped: no sampler x   mine 1.0",
        "nothing to explain: 2 cases, none failed",
    ]


def test_a_case_that_the_reference_refused_is_explained_and_its_order_noted(tmp_path: Path) -> None:
    info = run_info("mine").model_copy(update={"paths": {"parity/top_p": "mine.toml"}})
    chain = ["dist", "top_k"]
    cases = [
        case("a", {"mine": got()}, samplers=chain, refusal="candidate 5 was drawn"),
        case("b", {"mine": got()}, samplers=chain),
    ]
    bundle = bundle_of(tmp_path / "b", info, cases)
    assert list(overview(bundle.folder)) == [
        "a: candidate 5 was drawn",
        "note     a and 1 more: top_k behind dist has no part in the draw: put dist last",
    ]
    assert next_command(bundle, met=False).endswith(f"explain {bundle.folder}")
    ours = bundle_of(tmp_path / "ours", run_info("mine"), cases[1:])
    assert list(overview(ours.folder)) == ["nothing to explain: 1 cases, none failed"]
