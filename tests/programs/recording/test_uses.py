"""Programs that misuse samplers are named by a rule, and their right neighbours are not."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.recording.check import BACKEND, Checked, check
from sampler_parity.programs.recording.misuse import RULES
from sampler_parity.programs.recording.program import Options, record
from tests.support.command_line import COMMAND
from tests.support.examples import one_in
from tests.support.recorded_programs import PROGRAMS, compile_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

TABLE = tomllib.loads((PROGRAMS / "uses.toml").read_text(encoding="utf-8"))
MISUSES, NOTES, RIGHT = TABLE["misuses"], TABLE["notes"], TABLE["right"]["names"]
TEXTS = {
    "top_k behind dist": "GGML_ASSERT(cur_p.selected >= 0",
    "the prompt in a grammar": "Unexpected empty grammar stack after accepting piece: Q",
}


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("uses", tmp_path_factory.mktemp("uses") / "uses")


def checked_use(uses: Path, name: str, scratch: Path, text: bool = True) -> Checked:
    """Record a program and judge it: its stages are right."""
    words = [str(uses), str(model_path(GOLDEN)), name]
    record(words, scratch / "r", Options(text=text))
    checked, _ = check(scratch / "r", scratch / "b", "identical", None)
    results = [result.backends[BACKEND] for result in checked.results]
    assert {result.verdict for result in results} <= {"identical", "skipped", "misused"}
    return checked


def broken(checked: Checked) -> list[str]:
    """Return the rules that give the verdict `misused`."""
    results = [result.backends[BACKEND] for result in checked.results]
    return [result.what for result in results if result.verdict == "misused"]


def noted(checked: Checked) -> set[str]:
    return {note.partition(":")[0] for note in checked.notes}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, MISUSES))
def test_a_misuse_is_named_by_its_rule_once(name: str, uses: Path, tmp_path: Path) -> None:
    checked = checked_use(uses, name, tmp_path)
    assert broken(checked) == [MISUSES[name]]
    (result,) = (case for case in checked.results if case.id.endswith(MISUSES[name]))
    assert result.failed(BACKEND)
    detail = result.backends[BACKEND].detail
    assert RULES[MISUSES[name]].advice in detail
    assert TEXTS.get(name, "") in detail


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, NOTES))
def test_a_use_that_may_be_wanted_is_a_note(name: str, uses: Path, tmp_path: Path) -> None:
    checked = checked_use(uses, name, tmp_path)
    assert (broken(checked), NOTES[name] in noted(checked)) == ([], True)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, RIGHT))
def test_the_right_neighbour_of_a_misuse_is_not_accused(
    name: str, uses: Path, tmp_path: Path
) -> None:
    checked = checked_use(uses, name, tmp_path)
    assert (broken(checked), noted(checked) - {"prompt-not-accepted"}) == ([], set())


@pytest.mark.slow
def test_the_text_of_an_exception_is_not_recorded_with_no_text(uses: Path, tmp_path: Path) -> None:
    checked_use(uses, "the prompt in a grammar", tmp_path, text=False)
    (events,) = (tmp_path / "r").glob("*.events")
    assert b'"why":"an exception"' in events.read_bytes()
    assert b"piece: Q" not in events.read_bytes()


@pytest.mark.slow
def test_the_commands_name_the_abort_and_fail(uses: Path, tmp_path: Path) -> None:
    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*COMMAND, *words], capture_output=True, encoding="utf-8")

    words = [str(uses), str(model_path(GOLDEN)), "no last stage"]
    recorded = run("record", "-o", str(tmp_path / "r"), "--", *words)
    assert "stopped: the program aborted: llama-sampler.cpp:" in recorded.stderr.splitlines()[-1]
    done = run("check", str(tmp_path / "r"))
    assert (done.returncode, "nothing-selects: no stage of the chain" in done.stdout) == (1, True)
    explained = run("explain", str(tmp_path / "r" / "checked"))
    assert "GGML_ASSERT" in explained.stdout
    run("report", str(tmp_path / "r"), "-o", str(tmp_path / "page"))
    page = (tmp_path / "page" / "recording.html").read_text(encoding="utf-8")
    assert "/1: nothing-selects: no stage of the chain selects" in page
    live = run("record", "--check", "-o", str(tmp_path / "live"), "--", *words)
    assert "/1: nothing-selects: no stage of the chain selects" in live.stderr
    run("redact", str(tmp_path / "r"), "-o", str(tmp_path / "redacted"))
    gate = run("gate", str(tmp_path / "redacted"))
    assert (gate.returncode, "nothing-selects" in gate.stdout) == (1, True)


def test_every_rule_has_a_program() -> None:
    source = (PROGRAMS / "uses.cpp").read_text(encoding="utf-8")
    assert all(f'{{"{name}", []' in source for name in [*MISUSES, *NOTES, *RIGHT])
    in_test_rules = {"aborted"}
    assert {*MISUSES.values(), *NOTES.values()} == RULES.keys() - in_test_rules
