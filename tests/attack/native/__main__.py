"""`python -m tests.attack.native [PART ...]`: what we ship in C and C++, a line for each part.

Under the sanitizers for addresses, undefined behaviour and threads, without memory, and on disks
that fail. A compiler or sanitizer that is missing is named first: its parts do not run, and the
exit status is 2. A part that finds something ends with status 1.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.recording.program import problems
from studies.trie_threads import driver
from tests.attack.native import programs
from tests.attack.native.recordings import DISK, MEMORY, judged, sweep
from tests.attack.native.repro import repro
from tests.attack.native.sanitizers import COMMON, FLAGS, environment, report_of, unavailable
from tests.attack.native.under import recorded, recorder_under, trie_memory, trie_model
from tests.support.recorded_programs import compile_program

FAILURES = 250  # that a sweep tries of each way, at most
REQUESTS = 300
OPERATIONS = 3000
LEFT_OUT = {
    ("thread", "no folder"),  # its shell would load the sanitizer, too
    # A child can wait for ever for a lock of GCC 12's allocator that another thread held.
    ("address", "forks"),
}


def trie(folder: Path) -> str:
    return f"{trie_model(folder, 1, OPERATIONS)}; {trie_memory(folder)}"


def trie_threads(folder: Path) -> str:
    program = driver(folder, *COMMON, *FLAGS["thread"])
    done = subprocess.run(
        [program, "race", "8", "250"], env=environment(), capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), report_of(done.stderr)
    return "eight threads that take, clone and give back 200 payloads"


def recorder(sanitizer: str) -> Callable[[Path], str]:
    """Return the part that records programs under a sanitizer."""

    def run(folder: Path) -> str:
        library = recorder_under(sanitizer, folder)
        counts: list[int] = []
        ended: dict[str, tuple[int, tuple[str, ...]]]
        ended = {"steps": (7, ("", "fork", "threads", "exec", "_exit", "no folder"))}
        ended |= {"threads": (0, ("plain", "forks", "leaves", "thrown", "cancelled"))}
        for name, (status, modes) in ended.items():
            program = compile_program(name, folder / name, *COMMON, *FLAGS[sanitizer])
            for mode in modes:
                if (sanitizer, mode) in LEFT_OUT:
                    continue
                words = [str(program), *(["20", "0"] if name == "steps" else []), mode]
                to = folder / f"of {name} {mode}".strip()
                report = recorded([word for word in words if word], to, library, sanitizer, status)
                assert not report, f"{name} {mode}: {report}"
                if mode != "no folder":
                    wrong, found = judged(to)
                    assert (wrong, problems(to)) == ("", []), f"{name} {mode}"
                    counts.append(found)
        return f"{sum(counts):,} applies of {len(counts)} programs recorded and identical"

    return run


def failing(name: str, ways: Iterable[str]) -> Callable[[Path], str]:
    """Return the part that records while memory or disk fail."""
    rows = {**MEMORY, **DISK}

    def run(folder: Path) -> str:
        steps = str(compile_program("steps", folder / "steps"))
        simple = str(compile_program("simple", folder / "simple"))
        asked = {
            "one thread": [steps, "3", "0"],
            "four threads": [steps, "3", "0", "threads"],
            "a fork": [steps, "3", "0", "fork"],
            "a model": [simple, str(model_path(GOLDEN))],
        }
        tried, bad = Counter[str](), []
        for program, words in asked.items():
            most = FAILURES if program == "one thread" else FAILURES // 5
            for way in ways:
                for nth, wrong in sweep(words, folder / f"{program} {way}", name, rows[way], most):
                    tried[program] += 1
                    if wrong:
                        bad.append(f"{program}, {way}, call {nth}: {wrong}")
        assert not bad, "\n".join(bad[:20])
        counts = ", ".join(f"{program} {count}" for program, count in tried.items())
        return f"{tried.total():,} failures ({counts}): no program was disturbed"

    return run


def worker(vocabulary: str) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        def compiled(to: Path, *options: str) -> Path:
            return programs.platform_worker(to, vocabulary, *options)

        program = compiled(folder, *programs.sanitized())
        session = programs.session_of_worker(vocabulary)
        if vocabulary == "file":  # libllama allocates before main, and its end of memory is its own
            return refused(program, session)
        ended = programs.suites_of_worker(program)
        assert set(ended) == {"identical"}, ended
        done = attacked(program, compiled, session, folder)
        return f"{ended.total()} cases identical, {done}"

    return run


def correct(folder: Path) -> str:
    program = programs.correct(folder, *programs.sanitized())
    ended = programs.suites_of_c(program)
    done = attacked(program, programs.correct, programs.session_of_c(), folder)
    return f"{ended.total()} cases, {done}"


def adapter(folder: Path) -> str:
    program = programs.adapter(folder, *programs.sanitized())
    ended = programs.suites_of_adapter(program)
    assert {"identical"} <= set(ended) <= {"identical", "diverged"}, ended
    session = programs.session_of_adapter(folder)
    done = attacked(program, programs.adapter, session, folder, requests=0)
    return f"{ended.total()} cases, {done}"


def attacked(
    program: Path,
    compiled: Callable[..., Path],
    session: list[bytes],
    folder: Path,
    requests: int = REQUESTS,
) -> str:
    """Send wrong requests, and end the memory. program: under the sanitizer. compiled: compiles it
    into a folder with options; memory ends in a program without a sanitizer."""
    wrong = refused(program, session, requests)
    (plain := folder / "plain").mkdir()
    failures = list(programs.without_memory(compiled(plain, "-O1"), session, folder, FAILURES))
    bad = [f"allocation {nth}: {seen}" for nth, seen in failures if seen]
    assert not bad, "\n".join(bad[:20])
    return f"{wrong}, {len(failures)} failed allocations"


def refused(program: Path, session: list[bytes], requests: int = REQUESTS) -> str:
    """Send wrong requests to a program under the sanitizer; return how it ended."""
    ends = programs.wrong_requests(program, session, requests, 1)
    by_status = ", ".join(f"{count} with {status}" for status, count in sorted(ends.items()))
    return f"{requests} wrong requests ended {by_status}" if requests else "no wrong request"


@dataclass(frozen=True)
class Part:
    """needs: the sanitizer; "" for none."""

    needs: str
    run: Callable[[Path], str]


PARTS = {
    "trie": Part("address", trie),
    "trie in threads": Part("thread", trie_threads),
    "recorder": Part("address", recorder("address")),
    "recorder in threads": Part("thread", recorder("thread")),
    "recorder without memory": Part("", failing("failing_memory", MEMORY)),
    "recorder on a failing disk": Part("", failing("failing_disk", DISK)),
    "worker, vocabulary of a file": Part("address", worker("file")),
    "worker, vocabulary of a table": Part("address", worker("table")),
    "engine correct/c": Part("address", correct),
    "adapter.c": Part("address", adapter),
    "program of repro": Part("address", repro),
}


def main(names: list[str]) -> int:
    """Run parts; return the exit status."""
    parts = {name: PARTS[name] for name in names or PARTS}
    missing = {one: unavailable(one) for one in sorted({p.needs for p in parts.values()} - {""})}
    if any(missing.values()):
        for sanitizer, why in missing.items():
            print(f"unavailable: the sanitizer for {sanitizer}: {why}" if why else "", flush=True)
    status = 2 if any(missing.values()) else 0
    for name, part in parts.items():
        if missing.get(part.needs):
            print(f"{name:30} unavailable", flush=True)
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = part.run(Path(folder))
            except (AssertionError, InputError, OSError, subprocess.SubprocessError) as error:
                said, status = f"FAILED\n{error}", 1
        print(f"{name:30} {said}, {time.monotonic() - begun:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
