"""Whatever a program does to the recorder in it: it runs as without, and the recording is whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp.build_files import library_file
from sampler_parity.programs.recording.check import Checked, check
from sampler_parity.programs.recording.events import Apply
from sampler_parity.programs.recording.library import recorder
from sampler_parity.programs.recording.program import Options, record, variables
from sampler_parity.programs.recording.reader import Recording
from sampler_parity.programs.recording.tokens import tokens_of
from tests.support.recorded_programs import between, compile_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

NIGHTLY = pytest.mark.nightly
HERE = Path(__file__).parent
EDGES = [sys.executable, str(HERE / "programs" / "edges.py"), str(model_path(GOLDEN))]


def both(
    words: list[str], scratch: Path, capfd: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """Run a program alone and recorded; return the recording's status and problems."""
    alone = subprocess.run(words, capture_output=True, encoding="utf-8")
    capfd.readouterr()
    status, problems = record(words, scratch / "recording", Options())
    assert (status, capfd.readouterr().out) == (alone.returncode, alone.stdout)
    return status, problems


def judged(scratch: Path) -> Checked:
    """Judge the recording: everything that is judged is identical."""
    checked, _ = check(scratch / "recording", scratch / "bundle", "identical", None)
    verdicts = {result.backends["recorded"].verdict for result in checked.results}
    assert verdicts == {"identical"}
    return checked


@pytest.fixture(scope="session")
def threads(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(compile_program("threads", tmp_path_factory.mktemp("threads") / "threads"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "applies"), [("changed", 180), ("null", 30)])
def test_every_stage_of_a_program_that_changes_a_chain_is_judged(
    name: str, applies: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert both([*EDGES, name], tmp_path, capfd) == (0, [])
    checked = judged(tmp_path)
    assert (checked.applies, checked.unjudged.total()) == (applies, 0)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["", "temp is ignored", "k plus one"])
def test_stages_behind_a_sampler_of_the_program_are_judged_on_what_it_left(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(between("faults")))
    monkeypatch.setenv("FAULT", fault)
    assert record([*EDGES, "custom"], tmp_path / "recording", Options()) == (0, [])
    checked, _ = check(tmp_path / "recording", tmp_path / "bundle", "identical", None)
    stage = checked.results[0].backends["recorded"].stage
    assert stage == {"": "", "temp is ignored": "temp", "k plus one": "top_k"}[fault]
    assert checked.unjudged == {
        "unknown is the program's own sampler": 30,
        "a chain inside another chain is followed": 30,
    }


def test_a_second_libllama_keeps_its_functions_and_stops_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        other = library_file(recorded.resolve("b6673")[0])
    except InputError as error:
        pytest.skip(f"unavailable: {error}")
    status, problems = both([*EDGES, "second", str(other)], tmp_path, capfd)
    assert status == 0
    assert [f"the program loads a second libllama: {other}" in line for line in problems] == [True]
    assert judged(tmp_path).applies == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["thrown", "leaves", "plain", "forks", pytest.param("cancelled", marks=NIGHTLY)]
)
def test_threads_of_a_program_do_what_they_do_without_the_recorder(
    name: str, threads: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert both([threads, name], tmp_path, capfd) == (0, [])
    assert judged(tmp_path).unjudged.total() == 0


@pytest.mark.slow
def test_a_killed_program_loses_few_tokens_though_the_writer_gets_no_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(between("late_writer")))
    (folder := tmp_path / "recording").mkdir()
    steps = [str(compile_program("steps", tmp_path / "steps")), "100", "5000"]
    given = variables(folder, Options(), recorder())
    with subprocess.Popen(steps, env=given, stdout=subprocess.PIPE) as program:
        assert program.stdout
        printed = [program.stdout.readline() for _ in range(60)]
        program.kill()
    (process,) = Recording(folder).processes
    applies = sum(isinstance(event, Apply) for event in process.events())
    assert applies >= len(printed) - 10


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["late_writer"]])
@pytest.mark.parametrize("name", ["simple", "steps"])
def test_a_program_that_replaces_the_descriptors_keeps_its_file_and_the_recording(
    name: str,
    more: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (own := tmp_path / "own").touch()
    program = str(compile_program(name, tmp_path / name))
    words = [program, "20", "5000", "threads"] if name == "steps" else [program, EDGES[-1]]
    monkeypatch.setenv("LD_PRELOAD", ":".join(str(between(one)) for one in ["replacer", *more]))
    monkeypatch.setenv("REPLACED_BY", str(own))
    status, problems = both(words, tmp_path, capfd)
    assert (own.read_bytes(), problems, status) == (b"", [], 7 if name == "steps" else 0)
    assert judged(tmp_path).unjudged.total() == 0


@pytest.mark.slow
def test_the_detail_tokens_lists_tokens_and_judges_none(threads: str, tmp_path: Path) -> None:
    assert record([threads, "plain"], tmp_path / "recording", Options(detail="tokens")) == (0, [])
    checked, _ = check(tmp_path / "recording", tmp_path / "bundle", "identical", None)
    assert set(checked.unjudged) == {"--detail tokens has no candidates"}
    assert (checked.judged, checked.applies) == (0, checked.unjudged.total() // 4)
    drawn = [token.token for token in tokens_of(Recording(tmp_path / "recording"))]
    assert len(drawn) == checked.applies
    assert min(drawn) >= 0


@pytest.mark.nightly
def test_a_slow_disk_drops_candidates_and_they_are_counted_as_not_judged(
    threads: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(between("slow_disk")))
    monkeypatch.setenv("SLOW_MS", "50")
    assert both([threads, "plain", "128000"], tmp_path, capfd) == (0, [])
    checked = judged(tmp_path)
    assert checked.unjudged["the disk was too slow: the recorder dropped the candidates"] > 0
    assert checked.judged > 0


@pytest.mark.nightly
def test_a_disk_that_is_stuck_lets_the_program_end(
    threads: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(between("slow_disk")))
    monkeypatch.setenv("STUCK_AT", "20")
    status, problems = both([threads, "plain"], tmp_path, capfd)
    assert status == 0
    assert ["or could not write" in line for line in problems] == [True]
    assert judged(tmp_path).applies == 19
