from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.writer import create, resume
from sampler_parity.harness.checks.timed_records import TimingResult
from sampler_parity.harness.errors import InputError
from tests.support.command_line import cli, refused
from tests.support.report_bundles import case, got, run_info

INFO = run_info("llama.cpp", suites={"parity/top_p": "abc"})
OLD_FOOTER = Footer(cases=2, steps=2, wall_s=1.0)


def identical(name: str) -> CaseResult:
    return case(name, {"llama.cpp": got()})


def finished(folder: Path) -> Path:
    """Write a bundle of two cases as it was written before footers had digests."""
    create(folder, INFO).append(identical("a"), identical("b"), OLD_FOOTER)
    return folder


def closed(folder: Path, *more: str) -> Path:
    """Write a bundle of two cases and more as a run does."""
    names = ["a", "b", *more]
    writer = create(folder, INFO)
    writer.append(*map(identical, names))
    count = len(names)
    writer.close(Footer(cases=count, steps=count, wall_s=1.0, records={"case": count}))
    return folder


def test_bundle_reads_back_what_was_appended(tmp_path: Path) -> None:
    read = bundle.read_finished(finished(tmp_path / "b"))
    assert [c.id for c in read.cases] == ["a", "b"]
    assert read.footer == OLD_FOOTER
    assert OLD_FOOTER.sha256 == ""


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
    writer = create(tmp_path / "b", INFO)
    writer.append(identical("a"), identical("b"))
    path = tmp_path / "b" / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"case","id":"c"')
    again = resume(tmp_path / "b", INFO)
    assert again.done == {"a", "b"}
    assert path.read_bytes() == whole


def test_resume_of_a_finished_bundle_takes_the_footer_off(tmp_path: Path) -> None:
    again = resume(finished(tmp_path / "b"), INFO)
    assert again.done == {"a", "b"}
    assert bundle.read(tmp_path / "b").footer is None


def test_create_refuses_a_folder_that_holds_a_bundle(tmp_path: Path) -> None:
    finished(tmp_path / "b")
    with pytest.raises(InputError, match="holds a bundle already - use --resume or another -o"):
        create(tmp_path / "b", INFO)


def test_read_of_no_bundle_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json: missing"):
        bundle.read(tmp_path)


def test_error_survives_the_way_between_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(InputError("file", "problem", "mend")))
    assert str(error) == "file: problem - mend"


def test_a_changed_record_is_named_as_such(tmp_path: Path) -> None:
    path = closed(tmp_path / "b") / "results.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"steps":1', b'"steps":2', 1))
    with pytest.raises(InputError) as error:
        bundle.read_finished(tmp_path / "b")
    assert str(error.value) == (
        f"{path}:4: a record above has changed since the run: the footer has another digest"
        " - make the bundle again"
    )


def test_a_record_behind_the_footer_is_refused(tmp_path: Path) -> None:
    path = closed(tmp_path / "b") / "results.jsonl"
    line = path.read_bytes().splitlines(keepends=True)[1]
    path.write_bytes(path.read_bytes() + line.replace(b'"a"', b'"c"'))
    with pytest.raises(InputError, match=r"results\.jsonl:5: comes after the footer in line 4"):
        bundle.read(tmp_path / "b")


def test_an_id_of_another_kind_is_no_repetition(tmp_path: Path) -> None:
    writer = create(tmp_path / "b", INFO)
    timing = TimingResult(id="a", sampler="top_p", n_vocab=10, repetitions=2, ns={"x": [1] * 8})
    writer.append(identical("a"), timing)
    assert bundle.read(tmp_path / "b").counts == {"case": 1, "timing": 1}


@pytest.mark.parametrize(
    "command",
    [
        ["report", "BUNDLE", "-o", "OUT"],
        ["gate", "BUNDLE"],
        ["gate", "OTHER", "--no-recompute", "--baseline", "BUNDLE"],
        ["compare", "OTHER", "BUNDLE"],
        ["explain", "BUNDLE", "a"],
        ["history", "add", "BUNDLE", "-d", "OUT"],
        ["run", "parity/top_p", "--plan", "--resume", "-o", "BUNDLE"],
    ],
    ids=lambda command: " ".join(command),
)
def test_a_repeated_id_is_refused_with_file_and_line(tmp_path: Path, command: list[str]) -> None:
    folder = closed(tmp_path / "b", "a")
    closed(tmp_path / "other")
    names = {"BUNDLE": folder, "OTHER": tmp_path / "other", "OUT": tmp_path / "out"}
    line = refused(cli(*(names.get(word, word) for word in command)))
    assert line == (
        f"sampler-parity: {folder / 'results.jsonl'}:4: duplicate case 'a', first in line 2"
        " - make the bundle again"
    )
    assert not (tmp_path / "out").exists()


def test_resume_refuses_a_repeated_id(tmp_path: Path) -> None:
    create(tmp_path / "b", INFO).append(identical("a"), identical("a"))
    with pytest.raises(InputError, match=r"results\.jsonl:3: duplicate case 'a', first in line 2"):
        resume(tmp_path / "b", INFO)


def test_a_name_that_no_bundle_can_be_written_with_is_refused_before_a_run(tmp_path: Path) -> None:
    info = INFO.model_copy(update={"command": ["sampler-parity", "run", "my \udcff/a.toml"]})
    with pytest.raises(InputError) as error:
        create(tmp_path / "b", info)
    assert str(error.value).endswith("/a.toml: is not UTF-8, the encoding of a bundle - rename it")
    assert not (tmp_path / "b").exists()
