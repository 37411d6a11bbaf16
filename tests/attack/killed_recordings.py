"""Recorded programs, recorders and checkers that are killed: `python -m
tests.attack.killed_recordings N SEED` kills N.

After every kill nothing is left running. The recording reads up to the last complete token, and
`check` finds it identical. A program that was not killed itself has its own exit status and output.
"""

import ctypes
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.cli.app import main
from sampler_parity.harness.errors import InputError
from sampler_parity.programs.recording.check import BACKEND, check
from sampler_parity.programs.recording.events import Apply, Array
from sampler_parity.programs.recording.reader import Gone, Process, Recording
from sampler_parity.programs.recording.replay import ReplayedProcess
from sampler_parity.reference.chronology import NEWEST
from tests.attack.killing import children
from tests.support.alive import alive, until
from tests.support.recorded_programs import compile_program

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans become our children, and we get their status
STEPS, PAUSE_US, STATUS = 30, 5000, 7
# A part of the command line of each process.
KINDS = {"program": b"steps", "compactor": b"recording.compactor", "live": b"recording.live"}
VICTIMS = ["program", "record", "compactor", "live", "group", "record at its start", "check"]
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


@dataclass
class Ended:
    """What a killed recording left. status: of the program, below 0 for a signal; None if nobody
    knows it. loss: tokens that were printed, and are not in the recording."""

    status: int | None
    printed: int
    applies: int

    @property
    def loss(self) -> int:
        return max(0, self.printed - self.applies)


def forked(work: Callable[[], object], log: Path) -> int:
    """Do something in a process group of its own; return its id. Its output goes to LOG.out and
    LOG.err."""
    outputs = [os.open(log.with_suffix(end), os.O_WRONLY | os.O_CREAT) for end in (".out", ".err")]
    pid = os.fork()
    if pid:
        for output in outputs:
            os.close(output)
        return pid
    status = 1
    try:
        os.setsid()
        for number, output in enumerate(outputs, 1):
            os.dup2(output, number)
        work()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os._exit(status)


def finished(work: Callable[[], object], log: Path) -> int:
    """Do something in a process group of its own; return its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(forked(work, log), 0)[1])


def command(*arguments: object) -> Callable[[], None]:
    def work() -> None:
        sys.argv = ["sampler-parity", *map(str, arguments)]
        main()

    return work


def family(record: int) -> dict[str, int]:
    """Return the processes of a recording by their kind."""
    found = {"record": record}
    for pid in children(record):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        found |= {kind: pid for kind, part in KINDS.items() if part in words}
    return found


def reaped(pids: dict[str, int], within_s: float = 120) -> dict[str, int]:
    """Wait until all of these have ended; return the status of those that are our children."""
    status: dict[str, int] = {}

    def all_ended() -> bool:
        over = not alive(*pids.values())
        for kind, pid in pids.items():
            if kind not in status:
                try:
                    ended, word = os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue
                if ended:
                    status[kind] = os.waitstatus_to_exitcode(word)
        return over

    until(all_ended, within_s)
    return status


def kill_one(victim: str, number: int, rng: random.Random, folder: Path, program: Path) -> Ended:
    """Record a program, and kill one of the processes at a random moment. Raises AssertionError."""
    live = ["--check"] if victim == "live" or rng.random() < 0.2 else []
    words = [program, STEPS, PAUSE_US]
    record = forked(command("record", *live, "-o", folder / "r", "--", *words), folder / "log")
    if victim == "record at its start":
        time.sleep(rng.uniform(0, 0.5))
        pids = family(record)
        os.kill(record, number)
    else:
        until(lambda: "program" in family(record) or not alive(record), 60)
        pids = family(record)
        time.sleep(rng.uniform(0, 0.6))
        pids = family(record) | pids
        if victim == "group":
            os.killpg(record, number)
        elif victim in pids and alive(pids[victim]):
            os.kill(pids[victim], number)
    status = reaped(pids)
    until(lambda: not marked(folder), 60)
    text = (folder / "log.err").read_text()
    assert "Traceback" not in text, text
    assert len(text.splitlines()) <= 4, text
    printed = (folder / "log.out").read_text().splitlines()
    # An orphan is our child. Otherwise `record` ends as the program did, unless killed itself.
    is_dead = victim not in KINDS and status["record"] == -signal.SIGKILL
    of_record = None if is_dead else status["record"]
    of_program = status.get("program", of_record) if printed else None
    return Ended(of_program, len(printed), applies_of(folder / "r"))


def marked(folder: Path) -> list[bytes]:
    """Return the command lines of other processes that have a folder in theirs, or in their
    environment: they record to it, or work on it."""
    found, mark = [], str(folder).encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
            if mark in words + (path / "environ").read_bytes() and int(path.name) != os.getpid():
                found.append(words)
        except OSError:
            continue
    return found


def applies_of(folder: Path) -> int:
    """Return how many tokens a recording has, each with its candidates. Raises InputError if it is
    damaged."""
    try:
        processes = Recording(folder).processes
    except InputError:
        return 0
    count = 0
    for process in processes:
        for event in process.events():
            if isinstance(event, Apply):
                process.lists(event.before)
                _read(process, event.after)
                count += 1
    return count


def _read(process: Process, array: Array) -> None:
    """Read the candidates of an array: all, some, or none where the recorder keeps their sum alone.
    Raises Gone if they are not there."""
    if array.form == "some":
        if process.some(array) is None:
            raise Gone("its candidates are not there")
    elif array.form != "none" or not array.sum:
        process.lists(array)


def differing(folder: Path) -> bool:
    """Judge a recording here, which is faster than the command; return whether a stage differs."""
    replays = [ReplayedProcess(one, NEWEST) for one in Recording(folder).processes]
    return any(applied.first is not None for replay in replays for applied in replay.run())


def is_identical(folder: Path, to: Path) -> bool:
    """Check a recording in a process of its own."""
    if finished(command("check", folder, "-o", to), to.with_suffix(".log")) != 0:
        print(to.with_suffix(".err").read_text(), to.with_suffix(".out").read_text())
        return False
    cases = bundle.read_finished(to).cases
    return {case.backends[BACKEND].verdict for case in cases} == {"identical"}


def kill_check(number: int, rng: random.Random, folder: Path, whole: Path) -> None:
    """Kill a checker; the recording is as before, and another check judges it."""
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    pid = forked(command("check", whole, "-o", folder / "killed"), folder / "log")
    time.sleep(rng.uniform(0, 1))
    os.kill(pid, number)
    reaped({"check": pid})
    assert marked(folder) == []
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before
    assert is_identical(whole, folder / "b")


def kill_often(kills: int, seed: int, folder: Path) -> str:
    """Kill and return a line with the result. Raises AssertionError."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    rng, begun = random.Random(seed), time.monotonic()
    program = compile_program("steps", folder / "steps")
    whole = forked(command("record", "-o", folder / "r", "--", program, STEPS, 0), folder / "log")
    assert reaped({"record": whole}) == {"record": STATUS}
    expected = (folder / "log.out").read_text()
    check(folder / "r", folder / "b", "identical", None)  # the forks load nothing more
    done: Counter[str] = Counter()
    tokens, losses = 0, [0]
    for nth in range(kills):
        victim, number = VICTIMS[nth % len(VICTIMS)], rng.choice(SIGNALS)
        (place := folder / str(nth)).mkdir()
        if victim == "check":
            kill_check(number, rng, place, folder / "r")
        else:
            ended = kill_one(victim, number, rng, place, program)
            tokens += ended.applies
            losses.append(ended.loss)
            what = f"{victim} {number.name} {ended}"
            meant = victim in ("program", "group") or (
                victim.startswith("record") and number == signal.SIGTERM
            )
            text = (place / "log.out").read_text()
            if not (meant and ended.status in (-number, None)) and text:
                assert (ended.status or STATUS, text) == (STATUS, expected), what
                assert ended.loss == 0, what
            assert expected.startswith(text), what
            if ended.applies:
                folders = (place / "r", place / "b")
                ok = not differing(folders[0]) if nth % 4 else is_identical(*folders)
                assert ok, what
        done[f"{victim} {number.name}"] += 1
        if nth % 10 == 9:
            print(f"{nth + 1} of {kills}", file=sys.stderr, flush=True)
        shutil.rmtree(place)
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    seconds = time.monotonic() - begun
    return (
        f"{kills} kills ({kinds}): {tokens:,} tokens read and identical, at most {max(losses)} that"
        f" a killed program had printed are lost, {seconds:.0f} s"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(kill_often(int(sys.argv[1]), int(sys.argv[2]), Path(temporary)))
