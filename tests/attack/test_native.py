"""Each check of tests/attack/native catches a fault that is planted in what we ship."""

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler_parity.engines.correct import c
from sampler_parity.harness.llama_cpp.compiled import SOURCES, built
from tests.attack.native import __main__ as native
from tests.attack.native import programs, sanitizers
from tests.attack.native.recordings import DISK, MEMORY, disturbance, sweep, undisturbed
from tests.attack.native.under import (
    RECORDER,
    planted,
    recorded,
    recorder_under,
    trie_memory,
    trie_model,
)
from tests.support.recorded_programs import compile_program

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
FAULTS = tomllib.loads(Path(native.__file__).with_name("faults.toml").read_text(encoding="utf-8"))

TRIE_CHECKS: dict[str, Callable[[Path, Path], str]] = {
    "model": lambda folder, sources: trie_model(folder, 1, 300, sources),
    "memory": lambda folder, sources: trie_memory(folder, sources, plain=True),
}


def need(sanitizer: str) -> None:
    if why := sanitizers.unavailable(sanitizer):
        pytest.skip(f"unavailable: {why}")


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    binary = tmp_path_factory.mktemp("steps") / "steps"
    return [str(compile_program("steps", binary)), "2", "0"]


def recorder_with(folder: Path, file: str, old: str, new: str) -> Path:
    """Compile the recorder with a fault. The fault's library has a name of its own."""
    files = sorted(planted(folder, RECORDER, file, old, new).iterdir())
    sources = [path for path in files if path.suffix == ".cpp"]
    library = built("recorder", sources, ["-ldl", "-pthread"], files)
    return Path(shutil.move(library, folder / "planted-recorder.so"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [("failing_memory", "no memory for ever"),
                                           ("failing_disk", "ENOSPC behind a half")])  # fmt: skip
def test_a_program_is_not_disturbed_by_what_its_recorder_lacks(
    steps: list[str], tmp_path: Path, name: str, way: str
) -> None:
    wrong = dict(sweep(steps, tmp_path, name, (MEMORY | DISK)[way], 6))
    assert len(wrong) > 5
    assert set(wrong.values()) == {""}


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS["recorder"])
def test_a_fault_of_the_recorder_is_seen_when_something_fails(
    fault: str, steps: list[str], tmp_path: Path
) -> None:
    row = FAULTS["recorder"][fault]
    name, way = row["failing"], (MEMORY | DISK)[row["way"]]
    library = recorder_with(tmp_path, row["file"], row["old"], row["new"])
    whole = undisturbed(steps, tmp_path / "whole", name)
    for nth in range(1, whole.calls + 1):
        folder = tmp_path / f"r{nth}"
        wrong = disturbance(steps, folder, whole, name, nth, way, library)
        if any(part in wrong for part in row["seen"]):
            return
    pytest.fail("no failure shows it")


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS["sanitized"])
def test_a_sanitizer_sees_a_fault_of_the_recorder(fault: str, tmp_path: Path) -> None:
    row = FAULTS["sanitized"][fault]
    sanitizer = row["sanitizer"]
    need(sanitizer)
    options = [*sanitizers.COMMON, *sanitizers.FLAGS[sanitizer]]
    program = compile_program("threads", tmp_path / "threads", *options)
    sources = planted(tmp_path, RECORDER, row["file"], row["old"], row["new"])
    library = recorder_under(sanitizer, tmp_path, sources)
    tries = 10 if sanitizer == "thread" else 1  # on a busy machine threads may not meet
    words = [str(program), "plain"]
    folders = [tmp_path / f"r{i}" for i in range(tries)]
    assert any(row["seen"] in recorded(words, folder, library, sanitizer, 0) for folder in folders)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS["trie"])
def test_a_fault_of_the_trie_is_seen(fault: str, tmp_path: Path) -> None:
    row = FAULTS["trie"][fault]
    need("address")
    sources = planted(tmp_path, SOURCES, row["file"], row["old"], row["new"])
    with pytest.raises(AssertionError, match=row["seen"]):
        TRIE_CHECKS[row["check"]](tmp_path, sources)


@pytest.mark.nightly
def test_a_template_without_a_check_of_its_memory_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = programs.ADAPTER.read_text()
    source = tmp_path / "faulty.c"
    source.write_text(text.replace("    if (block) return block;\n", "    return block;\n"))
    monkeypatch.setattr(programs, "ADAPTER", source)
    program = programs.adapter(tmp_path, "-O1", "-w")
    session = programs.session_of_adapter(tmp_path)
    found = programs.without_memory(program, session, tmp_path, 1000)
    assert any("signal 11" in wrong for _, wrong in found)


@pytest.mark.nightly
def test_a_call_that_lacks_arguments_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("address")
    text, check = c.SOURCE.read_text(), "if (!complete(name, c, numbers, whole))"
    assert text.count(check) == 1
    source = tmp_path / "c.cpp"
    source.write_text(text.replace(check, "if (false)"))
    monkeypatch.setattr(c, "SOURCE", source)
    program = programs.correct(tmp_path, *programs.sanitized())
    with pytest.raises(AssertionError, match=r"runtime error|AddressSanitizer"):
        programs.wrong_requests(program, programs.session_of_c(), native.REQUESTS, 1)
