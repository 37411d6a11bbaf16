"""reports/write.py and parity_summary.py: files on disk, lines on the terminal."""

import json
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.errors import InputError
from sampler_parity.reports.page import summary_lines
from sampler_parity.reports.write import write_report
from tests.support.report_bundles import (
    bundle_of,
    case,
    diverged,
    got,
    hostile_bundle,
    run_info,
    write_bundle,
)

ALL = ["json", "md", "html", "junit", "sarif"]


def good(folder: Path) -> Path:
    return write_bundle(folder, run_info("native"), [case("a", {"native": got()})])


@pytest.mark.slow
def test_write_report_writes_the_formats_asked_for_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    written = write_report([good(tmp_path / "b")], out, ALL)
    names = ["parity.json", "parity.md", "parity.html", "parity.junit.xml"]
    names += ["index.json", "index.md", "index.sarif", "index.html"]
    assert written == [out / name for name in names]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    assert json.loads(written[0].read_text())["ok"] is True


def test_sarif_names_each_finding_in_the_file_of_its_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (adapter := tmp_path / "my adapter.py").touch()
    info = run_info("mine", "llama.cpp")
    files = [FileInfo(path=str(path), size=0, sha256="") for path in (Path("/usr/x"), adapter)]
    info.backends["mine"] = info.backends["mine"].model_copy(update={"files": files})
    wrong = case("top_p/a", {"mine": diverged(), "llama.cpp": diverged()})
    bundle = write_bundle(tmp_path / "b", info, [wrong])
    write_report([bundle], tmp_path / "out", ["sarif"])
    run = json.loads((tmp_path / "out/index.sarif").read_text())["runs"][0]
    result, *others = run["results"]
    assert {(told["level"], told["ruleId"]) for told in others} >= {("note", "parity")}
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["parity", "top_p/fewer"]
    texts = [rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]]
    assert texts == ["parity", "top_p keeps fewer tokens"]
    assert result["ruleId"] == "top_p/fewer"
    assert result["level"] == "error"
    assert "1 case diverges at top_p" in result["message"]["text"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "my%20adapter.py"}


def test_sarif_of_a_backend_without_files_is_in_its_page(tmp_path: Path) -> None:
    wrong = case("top_p/a", {"native": diverged()})
    bundle = write_bundle(tmp_path / "b", run_info("native"), [wrong])
    write_report([bundle], tmp_path / "out", ["sarif"])
    assert '"uri": "parity.html"' in (tmp_path / "out/index.sarif").read_text()


@pytest.mark.slow
def test_write_report_makes_the_same_bytes_again(tmp_path: Path) -> None:
    bundle = hostile_bundle(tmp_path / "b")
    first = [path.read_bytes() for path in write_report([bundle], tmp_path / "1", ALL)]
    second = [path.read_bytes() for path in write_report([bundle], tmp_path / "2", ALL)]
    assert first == second


def test_write_report_of_an_unfinished_bundle_writes_nothing(tmp_path: Path) -> None:
    create(tmp_path / "b", run_info("native")).append(case("a", {"native": got()}))
    with pytest.raises(InputError, match="has no footer: the run did not finish"):
        write_report([good(tmp_path / "good"), tmp_path / "b"], tmp_path / "out", ALL)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        (["pdf"], "format 'pdf': unknown - use json, md, html, junit, sarif"),
        ([], "no format given"),
    ],
)
def test_write_report_refuses_formats_it_does_not_know(
    tmp_path: Path, formats: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_report([good(tmp_path / "b")], tmp_path / "out", formats)


def test_write_report_without_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no bundle given"):
        write_report([], tmp_path / "out", ["json"])


def test_write_report_into_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("taken")
    with pytest.raises(InputError, match=r"out: cannot write: .* - choose another -o"):
        write_report([good(tmp_path / "b")], tmp_path / "out", ["json"])
    assert (tmp_path / "out").read_text() == "taken"


def test_summary_of_a_good_run_is_two_lines(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path / "b", run_info("native"), [case("a", {"native": got()})])
    assert summary_lines(bundle) == [
        "parity   native 1.0   1/1 identical   0 diverged   0 crashed",
        "cases    1/1 as required   1 steps   2.5 s   ok",
    ]


def test_summary_shows_a_failure_with_place_values_and_command(tmp_path: Path) -> None:
    five = ["penalties", "top_k", "top_p", "temp", "dist"]
    cases = [case("b", {"native": got()}), case("a", {"native": diverged()}, samplers=five)]
    bundle = bundle_of(tmp_path / "b", run_info("native"), cases)
    assert summary_lines(bundle) == [
        "1 case diverges at top_p: keeps 63 fewer than p allows",
        "  survivors: got 10395, expected 10458",
        "  p at rank 7 (id 4711): got 0.25, expected 0.5",
        "  DIVERGED a   native 1.0, stage 3 of 5 (top_p), step 1 of 1",
        "  required: identical",
        "  replay: sampler-parity run parity/top_p --case a -b native",
        "parity   native 1.0   1/2 identical   1 diverged   0 crashed",
        "cases    1/2 as required   2 steps   2.5 s   FAILED",
    ]


def test_summary_shows_five_groups_in_full_a_line_for_others_and_counts_the_rest(
    tmp_path: Path,
) -> None:
    stages = [f"s{i:02}" for i in range(28)]
    cases = [case(s, {"native": diverged(stage=s)}, samplers=[s]) for s in stages]
    cases += [case(f"u{i}", {"native": got("unsupported", detail="no x")}) for i in range(460)]
    cases += [case(f"d{i}", {"native": diverged()}) for i in range(8)]
    lines = summary_lines(bundle_of(tmp_path / "b", run_info("native"), cases))
    assert lines[0] == "8 cases diverge at top_p: keeps 63 fewer than p allows"
    assert sum(line.startswith("  DIVERGED") for line in lines) == 5
    assert sum(" diverges at " in line for line in lines) == 4 + 20
    assert "460 cases are not supported: no x   native 1.0" in lines
    assert "... and 4 more groups of failures" in lines
    assert len(lines) < 60


def test_summary_says_which_crashes_are_as_required(tmp_path: Path) -> None:
    died, asked = got("crashed", detail="aborted"), {"required": {"native": ["crashed"]}}
    lines = summary_lines(bundle_of(tmp_path / "b", run_info("native"), [
        case("a", {"native": died}, **asked), case("b", {"native": got()})
    ]))  # fmt: skip
    assert lines[0] == "parity   native 1.0   1/2 identical   1 crashed as required   0 diverged"
    lines = summary_lines(bundle_of(tmp_path / "c", run_info("native"), [
        case("a", {"native": died}, **asked), case("b", {"native": died})
    ]))  # fmt: skip
    assert "parity   native 1.0   0/2 identical   2 crashed   0 diverged" in lines


def test_summary_of_a_run_without_a_case_says_failed(tmp_path: Path) -> None:
    lines = summary_lines(bundle_of(tmp_path / "b", run_info("native"), []))
    assert lines[-1] == "cases    0/0 as required   0 steps   2.5 s   FAILED"


def test_summary_names_the_chains_that_are_too_slow(tmp_path: Path) -> None:
    slow = {"reference": [60_000] * 3, "llama.cpp": [1_000] * 3}
    timings = [
        TimingResult(id="timing/a", sampler="top_p", n_vocab=128256, ns=slow),
        TimingResult(id="timing/b", sampler="temp", n_vocab=10, ns=slow | {"reference": [9, 9, 9]}),
    ]
    cases = [case("a", {"native": got()})]
    lines = summary_lines(bundle_of(tmp_path / "b", run_info("native"), cases, timings))
    assert lines[1:3] == [
        "speed    1/2 within 2 x llama.cpp + 50 µs",
        "  top_p V=128,256   reference 60 µs, limit 52 µs",
    ]
