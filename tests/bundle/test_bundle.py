from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.bundle.records.ends import Footer
from sampler_parity.harness.errors import InputError
from tests.support.report_bundles import case, got, run_info

INFO = run_info("llama.cpp", suites={"parity/top_p": "abc"})


def identical(name: str) -> CaseResult:
    return case(name, {"llama.cpp": got()})


def finished(folder: Path) -> Path:
    writer = bundle.create(folder, INFO)
    writer.append(identical("a"), identical("b"))
    writer.append(Footer(cases=2, steps=2, wall_s=1.0))
    return folder


def test_bundle_reads_back_what_was_appended(tmp_path: Path) -> None:
    read = bundle.read_finished(finished(tmp_path / "b"))
    assert [c.id for c in read.cases] == ["a", "b"]
    assert read.footer == Footer(cases=2, steps=2, wall_s=1.0)


def test_bundle_without_footer_never_passes_for_finished(tmp_path: Path) -> None:
    writer = bundle.create(tmp_path / "b", INFO)
    writer.append(identical("a"))
    with pytest.raises(InputError, match=r"results\.jsonl: has no footer: .* - use run --resume"):
        bundle.read_finished(tmp_path / "b")


def test_bundle_with_a_line_missing_is_refused(tmp_path: Path) -> None:
    path = finished(tmp_path / "b") / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[2:]))
    with pytest.raises(InputError, match="holds 1 cases, its footer says 2"):
        bundle.read_finished(tmp_path / "b")


def test_bundle_cut_off_in_mid_line_is_refused_and_named(tmp_path: Path) -> None:
    path = finished(tmp_path / "b") / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"results\.jsonl:4: cut off in mid-line"):
        bundle.read(tmp_path / "b")


def test_bundle_with_garbage_names_the_line(tmp_path: Path) -> None:
    path = finished(tmp_path / "b") / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "garbage\n", *lines[1:]]))
    with pytest.raises(InputError, match=r"results\.jsonl:2: malformed"):
        bundle.read(tmp_path / "b")


def test_resume_keeps_whole_lines_and_drops_a_torn_one(tmp_path: Path) -> None:
    writer = bundle.create(tmp_path / "b", INFO)
    writer.append(identical("a"), identical("b"))
    path = tmp_path / "b" / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"case","id":"c"')
    again = bundle.resume(tmp_path / "b", INFO)
    assert again.done == {"a", "b"}
    assert path.read_bytes() == whole


def test_resume_of_a_finished_bundle_takes_the_footer_off(tmp_path: Path) -> None:
    again = bundle.resume(finished(tmp_path / "b"), INFO)
    assert again.done == {"a", "b"}
    assert bundle.read(tmp_path / "b").footer is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "another seed"),
        ({"profile": "full"}, "another profile"),
        ({"suites": {"parity/top_p": "def"}}, "another suites"),
        ({"backends": {}}, "made with backends llama.cpp"),
    ],
    ids=["seed", "profile", "suites", "backends"],
)
def test_resume_of_another_run_is_refused(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    bundle.create(tmp_path / "b", INFO)
    with pytest.raises(InputError, match=named):
        bundle.resume(tmp_path / "b", INFO.model_copy(update=change))


def test_create_refuses_a_folder_that_holds_a_bundle(tmp_path: Path) -> None:
    finished(tmp_path / "b")
    with pytest.raises(InputError, match="holds a bundle already - use --resume or another -o"):
        bundle.create(tmp_path / "b", INFO)


def test_read_of_no_bundle_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json: missing"):
        bundle.read(tmp_path)


def test_error_survives_the_way_between_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(InputError("file", "problem", "mend")))
    assert str(error) == "file: problem - mend"
