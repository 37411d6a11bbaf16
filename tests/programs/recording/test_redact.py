"""Recordings and bundles that others may see: no texts, no grammars, no tokens."""

import base64
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.programs.recording.check import BACKEND, check
from sampler_parity.programs.recording.redact import redact
from sampler_parity.programs.recording.segments import unpacked
from tests.support.command_line import COMMAND, cli
from tests.support.recorded_programs import between, compile_program
from tests.support.report_bundles import case, diverged, run_info, write_bundle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

# The grammar is that of simple.cpp.
SECRET = {"grammar": "root ::= [a-z ]+", "argument": "an argument", "program": "/simple"}


def recorded(folder: Path, *options: str) -> str:
    """Record a program whose library has a fault; return the texts that it printed."""
    program = compile_program("simple", folder.with_name("simple"))
    words = [*COMMAND, "record", *options, "-o", str(folder), "--", str(program)]
    done = subprocess.run(
        [*words, str(model_path(GOLDEN)), "an argument"],
        env=os.environ | {"LD_PRELOAD": str(between("faults")), "FAULT": "k plus one"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A checked recording with a difference. texts.txt has what the program printed."""
    folder = tmp_path_factory.mktemp("redact") / "r"
    texts = recorded(folder)
    (folder.parent / "texts.txt").write_text(texts)
    return check(folder, folder / "checked", "identical", None)[1]


def contents(folder: Path) -> Iterator[bytes]:
    """Yield all files of a folder, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            yield unpacked(content) if path.suffix == ".z" else content


def found(folder: Path, texts: str) -> set[str]:
    """Return what a folder has of texts, the grammar, the vocabulary and the command line."""
    parts = {name: text.encode() for name, text in SECRET.items()}
    for line in texts.splitlines():
        parts |= {line[i:][:12]: line[i:][:12].encode() for i in range(0, len(line) - 12, 6)}
    longest = sorted(read_vocab(model_path(GOLDEN)).pieces, key=len)[-100:]
    parts |= {f"piece {piece!r}": base64.b64encode(piece) for piece in longest}
    whole = b"\n".join(contents(folder))
    return {name for name, text in parts.items() if text in whole}


def counts(bundle: Bundle) -> Counter[tuple[str, str]]:
    results = [case.backends[BACKEND] for case in bundle.cases]
    return Counter((result.verdict, result.stage) for result in results)


@pytest.mark.slow
def test_a_recording_has_what_no_text_and_redact_leave_out(bundle: Bundle) -> None:
    texts = (bundle.folder.parent.parent / "texts.txt").read_text()
    parts = found(bundle.folder.parent, texts)
    assert SECRET.keys() <= parts
    assert len([part for part in parts if part.startswith("piece ")]) == 100


@pytest.mark.slow
def test_no_text_leaves_out_texts_grammars_and_arguments(tmp_path: Path) -> None:
    texts = recorded(tmp_path / "r", "--no-text")
    assert found(tmp_path / "r", texts) <= {"program"}
    (events,) = (tmp_path / "r").glob("*.events")
    assert '"seq_breakers":[null,null]' in events.read_text()
    assert '"seq_breakers":["' not in events.read_text()
    checked, _ = check(tmp_path / "r", tmp_path / "b", "identical", None)
    why = "{} is not modelled with these arguments: a recording with --no-text has no vocabulary"
    assert {why.format("dry"), why.format("grammar")} <= checked.unjudged.keys()


@pytest.mark.slow
def test_redact_keeps_verdicts_and_counts_alone(bundle: Bundle, tmp_path: Path) -> None:
    texts = (bundle.folder.parent.parent / "texts.txt").read_text()
    redacted = redact(bundle.folder.parent, tmp_path / "redacted")
    assert ("diverged", "top_k") in counts(bundle)
    assert counts(redacted) == counts(bundle)
    assert [case.steps for case in redacted.cases] == [case.steps for case in bundle.cases]
    assert found(tmp_path / "redacted", texts) == set()
    for one in redacted.cases:
        assert one.backends[BACKEND].values.keys() <= {"survivors"}
        assert one.backends[BACKEND].detail == ""
    assert redacted.info.command == []
    assert redacted.info.backends[BACKEND].libraries == {}
    assert not [*(tmp_path / "redacted").rglob("*.npz")]
    assert [*bundle.folder.rglob("*.npz")]


@pytest.mark.slow
def test_a_redacted_bundle_is_reported_and_gated_as_before(bundle: Bundle, tmp_path: Path) -> None:
    done = cli("redact", bundle.folder, "-o", tmp_path / "redacted")
    assert done.returncode == 0
    assert "keeps 1 to 2 more than k allows" in done.stdout
    for folder in (bundle.folder, tmp_path / "redacted"):
        assert cli("report", folder, "-o", tmp_path / folder.name).returncode == 0
        assert cli("gate", folder).returncode == 1


def test_another_bundle_is_refused(tmp_path: Path) -> None:
    bad = diverged(values={"rank": 0, "got": 1, "expected": 2})
    write_bundle(tmp_path / "b", run_info("a"), [case("greedy/x", {"a": bad})], [])
    with pytest.raises(InputError, match="is not a checked recording - run sampler-parity check"):
        redact(tmp_path / "b", tmp_path / "r")
