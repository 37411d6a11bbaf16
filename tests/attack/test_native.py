"""Each check of tests/attack/native catches a fault that is planted in what we ship."""

import shutil
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


# A fault of the recorder, the failure that shows it, and what is seen.
RECORDER_FAULTS = {
    "an allocation is not checked": (
        "candidates.cpp", "        if (!moved) throw std::bad_alloc();\n", "",
        "failing_memory", "no memory once", "dies|ends with -11",
    ),
    "memory that is missing ends the program": (
        "recorder.h", "    } catch (...) {\n        stop(no_memory);", "    } catch (int) {",
        "failing_memory", "no memory once", "ends with -6",
    ),
    "a lost line is not reported": (
        "recorder.h", "        stop(no_memory);\n", "",
        "failing_memory", "no memory once", "no problem is reported|not identical|are judged",
    ),
    "a short write counts as a whole one": (
        "files.cpp", "done += static_cast<size_t>(n);", "done = n ? length : 0;",
        "failing_disk", "a half", "is damaged|cannot be read",
    ),
    "half a line stays": (
        "files.cpp", "if (ftruncate(file.fd, static_cast<off_t>(file.size))) close_file(file);", "",
        "failing_disk", "ENOSPC behind a half", "is damaged",
    ),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("fault", RECORDER_FAULTS)
def test_a_fault_of_the_recorder_is_seen_when_something_fails(
    fault: str, steps: list[str], tmp_path: Path
) -> None:
    file, old, new, name, way, seen = RECORDER_FAULTS[fault]
    library = recorder_with(tmp_path, file, old, new)
    whole = undisturbed(steps, tmp_path / "whole", name)
    for nth in range(1, whole.calls + 1):
        folder = tmp_path / f"r{nth}"
        wrong = disturbance(steps, folder, whole, name, nth, (MEMORY | DISK)[way], library)
        if any(part in wrong for part in seen.split("|")):
            return
    pytest.fail("no failure shows it")


SANITIZED_FAULTS = {
    "a buffer is one byte short": (
        "address", "candidates.cpp", "n + n / 2 + 4096;", "n > 1 ? n - 1 : 1;",
        "heap-buffer-overflow",
    ),
    "events are queued without the lock": (
        "thread", "files.cpp", "Lock() { pthread_mutex_lock(&gate), pthread_mutex_lock(&mutex); }\n"
        "    ~Lock() { pthread_mutex_unlock(&mutex), pthread_mutex_unlock(&gate); }",
        "Lock() { pthread_mutex_lock(&gate); }\n    ~Lock() { pthread_mutex_unlock(&gate); }",
        "ThreadSanitizer",
    ),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("fault", SANITIZED_FAULTS)
def test_a_sanitizer_sees_a_fault_of_the_recorder(fault: str, tmp_path: Path) -> None:
    sanitizer, file, old, new, seen = SANITIZED_FAULTS[fault]
    need(sanitizer)
    options = [*sanitizers.COMMON, *sanitizers.FLAGS[sanitizer]]
    program = compile_program("threads", tmp_path / "threads", *options)
    library = recorder_under(sanitizer, tmp_path, planted(tmp_path, RECORDER, file, old, new))
    tries = 10 if sanitizer == "thread" else 1  # on a busy machine threads may not meet
    words = [str(program), "plain"]
    folders = [tmp_path / f"r{i}" for i in range(tries)]
    assert any(seen in recorded(words, folder, library, sanitizer, 0) for folder in folders)


TRIE_FAULTS: dict[str, tuple[Callable[[Path, Path], str], str, str, str, str]] = {
    "one candidate too many is masked": (
        lambda folder, sources: trie_model(folder, 1, 300, sources),
        "token_trie.cpp", "for (; at < end; at++) at->logit", "for (; at <= end; at++) at->logit",
        "heap-buffer-overflow",
    ),
    "a clone forgets its use": (
        lambda folder, sources: trie_memory(folder, sources, plain=True),
        "cache.h", "    ~Use() { cache.release(entry); }\n", "    ~Use() {}\n",
        "a use is left",
    ),
    "what was given away is freed, too": (
        lambda folder, sources: trie_memory(folder, sources, plain=True),
        "token_trie.cpp", "    context.release();\n    return made;", "    return made;",
        "ends with -",
    ),
    "a step takes memory": (
        lambda folder, sources: trie_memory(folder, sources, plain=True),
        "token_trie.cpp", "explicit Children(size_t most) { reserve(most); }",
        "explicit Children(size_t) {}",
        "apply takes memory",
    ),
    "no memory is not caught": (
        lambda folder, sources: trie_memory(folder, sources, plain=True),
        "token_trie.cpp", "} catch (const std::bad_alloc &) {", "} catch (const std::bad_cast &) {",
        "ends with -6: terminate",
    ),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("fault", TRIE_FAULTS)
def test_a_fault_of_the_trie_is_seen(fault: str, tmp_path: Path) -> None:
    check, file, old, new, seen = TRIE_FAULTS[fault]
    need("address")
    with pytest.raises(AssertionError, match=seen):
        check(tmp_path, planted(tmp_path, SOURCES, file, old, new))


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
