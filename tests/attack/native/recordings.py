"""A recorded program whose recorder gets no memory, or whose disk fails, at each call in turn.

The program's output and status are its own. The recording reads up to the failure, all of it is
identical, and what is missing is reported.
"""

import errno
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.compiled import built
from sampler_parity.programs.recording.check import BACKEND, check
from sampler_parity.programs.recording.library import recorder
from sampler_parity.programs.recording.program import Options, problems, variables
from sampler_parity.programs.recording.reader import Recording
from tests.attack.killed_recordings import applies_of

HERE = Path(__file__).parent
Way = dict[str, object]
MEMORY: dict[str, Way] = {"no memory once": {}, "no memory for ever": {"FOR_EVER": 1}}
DISK: dict[str, Way] = {
    "a half": {"ERROR": 0},
    "halves for ever": {"ERROR": 0, "FOR_EVER": 1},
    **{name: {"ERROR": getattr(errno, name)} for name in ("ENOSPC", "EIO", "EROFS", "EDQUOT")},
    "ENOSPC behind a half": {"ERROR": errno.ENOSPC, "HALF": 1},
    "ENOSPC for ever": {"ERROR": errno.ENOSPC, "HALF": 1, "FOR_EVER": 1},
}
STOPPED = b'{"e":"stopped"'


@dataclass
class Ran:
    """A program's end, the calls of its recorder that may fail, and what was recorded."""

    status: int
    output: str
    errors: str
    calls: int
    applies: int


def interposer(name: str) -> Path:
    """Compile failing_memory or failing_disk. Raises InputError."""
    files = [HERE / f"{name}.cpp", HERE / "caller.h"]
    return built(name, files[:1], ["-fvisibility=default", "-ldl"], files)


def ran(
    words: list[str], folder: Path, name: str, nth: int, way: Way, library: Path | None = None
) -> Ran:
    """Record a program; the n-th call of its recorder fails. library: another recorder."""
    recorded_by = library or recorder()
    folder.mkdir(parents=True)
    count = folder.parent / f"{folder.name}.count"
    count.write_bytes(bytes(8))
    given = variables(folder, Options(), recorded_by)
    given["LD_PRELOAD"] = f"{interposer(name)}:{given['LD_PRELOAD']}"
    given |= {"FAIL_COUNT": str(count), "FAIL_NTH": str(nth), "FAIL_OF": recorded_by.name}
    given |= {f"FAIL_{key}": str(value) for key, value in way.items()}
    given |= {"GGML_NO_BACKTRACE": "1"}  # it answers an abort by running gdb on itself
    try:
        done = subprocess.run(words, env=given, capture_output=True, encoding="utf-8", timeout=60)
    except subprocess.TimeoutExpired:
        return Ran(-1000, "", "it hangs", 0, 0)
    calls = int.from_bytes(count.read_bytes(), sys.byteorder)
    return Ran(done.returncode, done.stdout, done.stderr, calls, 0)


def disturbance(
    words: list[str],
    folder: Path,
    whole: Ran,
    name: str,
    nth: int,
    way: Way,
    library: Path | None = None,
) -> str:
    """Record with a failure; return what is wrong with it, or "". The folder is removed again."""
    try:
        now = ran(words, folder, name, nth, way, library)
        if (now.status, now.output, now.errors) != (whole.status, whole.output, whole.errors):
            return f"the program ends with {now.status}: {now.errors[-300:] or 'another output'}"
        problem, applies = judged(folder)
        if not problem and applies < whole.applies and not problems(folder):
            return f"{applies} of {whole.applies} are recorded, and no problem is reported"
        return problem
    finally:
        shutil.rmtree(folder)


def judged(folder: Path) -> tuple[str, int]:
    """Return what is wrong with a recording, or "", and how many applies it has."""
    if all(is_empty(path) for path in folder.glob("*.events")):
        return "", 0
    try:
        applies = applies_of(folder)
        if not applies and all(process.start for process in Recording(folder).processes):
            return "", 0
        checked, _ = check(folder, folder / "bundle", "identical", None)
    except InputError as error:
        return f"the recording cannot be read: {error}", 0
    verdicts = {result.backends[BACKEND].verdict for result in checked.results}
    if verdicts - {"identical"} or checked.applies != applies:
        return f"{checked.applies} of {applies} are judged: {verdicts}", applies
    return "", applies


def is_empty(path: Path) -> bool:
    """Return whether the recorder could write no whole line but why it stopped."""
    lines = path.read_bytes().splitlines(keepends=True)
    return not any(line.endswith(b"\n") and not line.startswith(STOPPED) for line in lines)


def undisturbed(words: list[str], folder: Path, name: str) -> Ran:
    """Record without a failure: how many calls and applies there are."""
    whole = ran(words, folder, name, 0, {})
    problem, whole.applies = judged(folder)
    assert (problem, problems(folder)) == ("", [])
    assert whole.applies > 0
    return whole


def sweep(
    words: list[str], folder: Path, name: str, way: Way, most: int, seed: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield each failing call with what is wrong. most: how many are tried, the first always."""
    whole = undisturbed(words, folder / "whole", name)
    last = whole.calls
    chosen = range(1, last + 1)
    rng = random.Random(seed)
    some = sorted({1, *rng.sample(chosen, most)}) if most < last else chosen
    for nth in some:
        yield nth, disturbance(words, folder / f"r{nth}", whole, name, nth, way)
