"""A program of an engine in Python is recorded by hooks: it prints the same, and is judged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.engines.shared.hooks import pieces_of
from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording.check import check
from sampler_parity.programs.recording.events import Apply, Init, Vocabulary
from sampler_parity.programs.recording.program import Options, engines_with_recorder, record
from sampler_parity.programs.recording.reader import Recording
from tests.support.recorded_programs import judged

HERE = Path(__file__).parent / "stand_in"
APP = [sys.executable, str(HERE / "app.py")]
PENALTY = "transformers_repetition_penalty"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def recorded(
    folder: Path, capfd: pytest.CaptureFixture[str], trouble: str = "", **options: str
) -> list[str]:
    """Record the program, check that it prints what it prints alone, and return the problems."""
    alone = subprocess.run([*APP, trouble], capture_output=True, text=True, check=True).stdout
    status, problems = record([*APP, trouble], folder, Options("transformers", **options))  # type: ignore[arg-type]
    assert (status, capfd.readouterr().out) == (0, alone)
    return problems


@pytest.mark.slow
def test_a_program_prints_the_same_and_every_stage_is_judged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert recorded(tmp_path / "r", capfd) == []
    checked, differ = judged(tmp_path / "r")
    assert differ == set()
    assert len(checked.results) == 3  # one prompt, then a batch of two rows
    draws = checked.unjudged["torch.multinomial is the program's own sampler"]
    assert checked.judged == checked.applies * 3 - draws
    assert checked.unjudged.total() == draws > 10
    events = [*Recording(tmp_path / "r").processes[0].events()]
    inits = [event for event in events if isinstance(event, Init)]
    assert [event.sampler for event in inits[:3]] == [PENALTY, "top_k", "greedy"]
    assert [inits[0].args["penalty"], inits[1].args["k"]] == [1.5, 8]
    tokens: dict[str, list[int]] = {}  # a row ends with its text, by token 2
    for event in events:
        if isinstance(event, Apply):
            tokens.setdefault(event.s, []).append(event.token)
            assert 0 < event.p <= 1
    assert all(2 not in of_row[:-1] for of_row in tokens.values())
    assert any(of_row[-1] == 2 for of_row in tokens.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "stage"),
    [
        ("k plus one", "top_k"),
        ("a stage is skipped", "top_k"),
        ("the history is shifted by one", PENALTY),
        ("a removed token is drawn", "greedy torch.multinomial"),
    ],
)
def test_a_fault_is_named_at_its_stage(
    fault: str, stage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert recorded(tmp_path / "r", capfd, fault) == []
    assert judged(tmp_path / "r")[1] == set(stage.split())


@pytest.mark.slow
def test_a_processor_that_is_a_function_is_counted_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert recorded(tmp_path / "r", capfd, "a function") == []
    checked, differ = judged(tmp_path / "r")
    own = checked.unjudged["LogitsProcessorList is the program's own sampler"]
    assert (differ, own) == (set(), checked.applies)


@pytest.mark.slow
def test_a_forked_child_is_a_process_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert recorded(tmp_path / "r", capfd, "a forked child") == []
    checked, differ = judged(tmp_path / "r")
    assert (differ, len(checked.results)) == (set(), 6)
    assert len(Recording(tmp_path / "r").processes) == 2


@pytest.mark.slow
def test_an_error_in_the_recorder_ends_the_recording_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (problem,) = recorded(tmp_path / "r", capfd, "an error in the recorder")
    assert "stopped: TypeError" in problem


@pytest.mark.slow
def test_a_disk_that_takes_nothing_ends_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "raise OSError(28, 'No space left on device')"
    (tmp_path / "sitecustomize.py").write_text(
        f"import os\ndef write(*_): {full}\nos.write = write\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{HERE}")
    (problem,) = recorded(tmp_path / "r", capfd)
    assert "stopped: OSError: [Errno 28] No space left" in problem


@pytest.mark.slow
def test_a_sitecustomize_of_the_user_is_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{HERE}")
    assert recorded(tmp_path / "r", capfd) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", [True, False])
def test_the_tokenizer_names_the_tokens_unless_texts_are_left_out(
    text: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record(APP, tmp_path / "r", Options("transformers", text=text))
    (process,) = Recording(tmp_path / "r").processes
    files = [event.file for event in process.events() if isinstance(event, Vocabulary)]
    assert [bool(file) for file in files] == [text]
    assert len(list((tmp_path / "r").glob("*.model-*.json"))) == text


@pytest.mark.slow
def test_a_program_without_the_engine_is_reported(tmp_path: Path) -> None:
    _, problems = record([sys.executable, "-c", ""], tmp_path / "r", Options("transformers"))
    assert problems[0].startswith("nothing is recorded: the program never imported transformers")


@pytest.mark.slow
def test_a_program_that_generates_nothing_has_nothing_to_judge(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import transformers.generation.utils"]
    assert record(program, tmp_path / "r", Options("transformers")) == (0, [])
    with pytest.raises(InputError, match="nothing to judge"):
        check(tmp_path / "r", tmp_path / "b", "identical", None)
    assert not (tmp_path / "b").exists()


def test_an_engine_without_a_recorder_is_refused_with_those_that_have_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"use {', '.join(engines_with_recorder())}"):
        record(APP, tmp_path / "r", Options("rwkv"))


@pytest.mark.slow
def test_every_detail_is_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for detail in ("tokens", "stages"):
        assert recorded(tmp_path / detail, capfd, detail=detail) == []
        checked, differ = judged(tmp_path / detail)
        assert (differ, bool(checked.judged)) == (set(), detail == "stages")


class ByteLevel:
    """Tokens in GPT-2's alphabet of bytes, where \u0120 is a space."""

    def __len__(self) -> int:
        return 3

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [["\u0120the", "\u00c3\u00a9", "<|end|>"][token] for token in ids]


def test_the_bytes_of_a_token_are_those_of_its_alphabet() -> None:
    assert pieces_of(ByteLevel(), 4) == [b" the", "é".encode(), b"<|end|>", b""]
