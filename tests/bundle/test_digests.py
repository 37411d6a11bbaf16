"""harness/bundle/writer.py: changes between a kill and `--resume` are refused; nothing is lost."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.bundle.writer import create, resume
from sampler_parity.harness.errors import InputError
from tests.support.report_bundles import case, diverged, run_info

INFO = run_info("mine")
AGAIN = "run again without --resume, to another -o"
Lines = list[bytes]


def record(name: str) -> CaseResult:
    return case(name, {"mine": diverged()})


def killed(folder: Path) -> Path:
    """Lines 2 to 5 are cases, written in two chunks; the fifth was not the last of the run."""
    writer = create(folder, INFO)
    writer.append(record("a"), record("b"))
    writer.append(record("c"), record("d"))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _verdict(lines: Lines) -> Lines:
    return [
        *lines[:2],
        lines[2].replace(b'"verdict":"diverged"', b'"verdict":"identical"'),
        *lines[3:],
    ]


def _allowed(lines: Lines) -> Lines:
    required = b'"required":{"mine":["identical"]}', b'"required":{"mine":["diverged"]}'
    return [*lines[:4], lines[4].replace(*required)]


def _blank(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace(b'"kind":', b'"kind": ', 1), *lines[4:]]


CHANGES: dict[str, tuple[Callable[[Lines], Lines], int]] = {
    "a verdict": (_verdict, 3),
    "what is required": (_allowed, 5),
    "a blank": (_blank, 4),
    "a row is taken out": (lambda lines: [*lines[:2], *lines[3:]], 3),
    "two rows change places": (lambda lines: [*lines[:2], lines[3], lines[2], lines[4]], 3),
    "a row is put in": (
        lambda lines: [*lines[:2], lines[2].replace(b'"b"', b'"x"'), *lines[2:]],
        3,
    ),
    "a row is put behind": (lambda lines: [*lines, lines[4].replace(b'"d"', b'"x"')], 6),
    "no JSON": (lambda lines: [*lines[:4], b"garbage\n"], 5),
    "a header with a blank": (lambda lines: [lines[0].replace(b",", b", "), *lines[1:]], 1),
}


@pytest.mark.parametrize(("change", "line"), CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_refused_with_its_line_and_left_as_it_is(
    tmp_path: Path, change: Callable[[Lines], Lines], line: int
) -> None:
    path = killed(tmp_path / "b") / "results.jsonl"
    before = path.read_bytes().splitlines(keepends=True)
    assert change(before) != before
    path.write_bytes(b"".join(change(before)))
    held = contents(tmp_path / "b")
    with pytest.raises(InputError) as refused:
        resume(tmp_path / "b", INFO)
    assert str(refused.value) == (
        f"{path}:{line}: has changed since the run - put it back, or keep only the lines above it,"
        f" or {AGAIN}"
    )
    assert contents(tmp_path / "b") == held


def test_the_lines_above_a_changed_one_are_gone_on_with(tmp_path: Path) -> None:
    path = killed(tmp_path / "b") / "results.jsonl"
    whole = contents(tmp_path / "b")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    writer = resume(tmp_path / "b", INFO)
    assert writer.done == {"a", "b"}
    writer.append(record("c"), record("d"))
    assert contents(tmp_path / "b") == whole
    assert resume(tmp_path / "b", INFO).done == {"a", "b", "c", "d"}


def test_a_run_that_was_killed_between_both_files_goes_on(tmp_path: Path) -> None:
    path = killed(tmp_path / "b") / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:40])
    assert resume(tmp_path / "b", INFO).done == {"a", "b", "c"}
    assert path.read_bytes() == b"".join(lines[:4])
    assert len((tmp_path / "b/digests").read_bytes().splitlines()) == 5


def test_a_bundle_without_its_digests_is_refused(tmp_path: Path) -> None:
    killed(tmp_path / "b")
    (tmp_path / "b/digests").unlink()
    with pytest.raises(InputError) as refused:
        resume(tmp_path / "b", INFO)
    assert str(refused.value) == (
        f"{tmp_path / 'b/digests'}: missing: changes of the results cannot be detected - {AGAIN}"
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff" * 9, b"0" * 99_999])
def test_digests_that_are_none_are_refused(tmp_path: Path, content: bytes) -> None:
    killed(tmp_path / "b")
    (tmp_path / "b/digests").write_bytes(content)
    with pytest.raises(InputError, match=r"run.json: has changed since the run"):
        resume(tmp_path / "b", INFO)


def test_a_finished_bundle_is_held_to_its_digests_too(tmp_path: Path) -> None:
    writer = create(tmp_path / "b", INFO)
    writer.append(record("a"))
    writer.close(Footer(cases=1, steps=1, wall_s=1.0, records={"case": 1}))
    path = tmp_path / "b/results.jsonl"
    header, row, footer = path.read_bytes().splitlines(keepends=True)
    row = row.replace(b'"verdict":"diverged"', b'"verdict":"identical"')
    other = json.loads(footer) | {"sha256": hashlib.sha256(header + row).hexdigest()}
    path.write_bytes(header + row + json.dumps(other).encode() + b"\n")
    with pytest.raises(InputError, match=r"results.jsonl:2: has changed since the run"):
        resume(tmp_path / "b", INFO)
