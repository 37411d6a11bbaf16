"""Runs that are killed, and checks of what they leave; `python -m tests.attack.killing N` kills N.

After every kill no process of the run is alive, its scratch files are gone, and all recorded
results are kept. At the end `--resume` finishes the run: no result is missing, doubled or
different.
"""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sampler_parity.harness.bundle import bundle
from tests.support.alive import alive, until
from tests.support.command_line import ROOT

ADAPTER = [sys.executable, "-I", "-S", str(ROOT / "examples/adapter.py")]
SUITE = """
name = "killed"
[[matrix]]
id = "many"
description = "top_k and greedy"
why = "a run long enough to be killed"
chain = [{ top_k = { k = "$k" } }, { greedy = {} }]
vary = { k = [%s] }
families = ["normal"]
sizes = [128]
steps = 2
"""


def suite(folder: Path, cases: int) -> Path:
    path = folder / "killed.toml"
    path.write_text(SUITE % ", ".join(map(str, range(1, cases + 1))))
    return path


ENDS = {
    "SIGINT": ["main INT"],
    "SIGINT twice": ["main INT", "main INT"],
    "Ctrl-C": ["group INT"],
    "Ctrl-C twice": ["group INT", "group INT"],
    "SIGTERM": ["main TERM"],
    "SIGHUP": ["group HUP"],
    "SIGQUIT": ["group QUIT"],
    "SIGKILL": ["main KILL"],
    "SIGKILL of the group": ["group KILL"],
    "SIGKILL, a worker stopped": ["worker STOP", "main KILL"],
    "SIGKILL, a backend stopped": ["backend STOP", "main KILL"],
    "SIGKILL, the supervisors first": ["supervisor KILL", "main KILL"],
}


# The only line of a run that ends by Ctrl-C: how far it was, unless a second one came too soon.
INTERRUPTED = r"sampler-parity: interrupted after [\d,]+ of [\d,]+: add --resume\n"
INTERRUPTED_TWICE = rf"{INTERRUPTED}|sampler-parity: interrupted\n"


class Starter:
    """Starts runs by tests/attack/forked_runs.py, with a fault of its list, if one is named."""

    def __init__(self, *fault: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.forked_runs", *fault],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **request: object) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@dataclass
class Victim:
    """A run in a folder, restarted after each kill."""

    starter: Starter
    folder: Path
    cases: int
    pid: int = 0
    recorded: list[bytes] = field(default_factory=list)

    def begin(self) -> None:
        arguments = ["run", str(suite(self.folder, self.cases)), "-o", str(self.folder / "b")]
        arguments += ["-b", f"mine={shlex.join(ADAPTER)}", "--resume", "-j", "2"]
        self.pid = self.starter.ask(run=arguments, log=str(self.folder / "log"))

    def results(self) -> list[bytes]:
        """Return the complete lines of cases."""
        path = self.folder / "b/results.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [line for line in lines if b'"kind":"case"' in line and line.endswith(b"\n")]

    def until_more(self) -> None:
        """Wait until it has recorded something new, or ended."""
        size = len(self.results())
        until(lambda: len(self.results()) > size or not alive(self.pid), 60)

    def family(self) -> list[int]:
        """Return the ids of all its processes."""
        pids = [self.pid]
        for pid in pids:
            pids += children(pid)
        return pids

    def wait(self) -> int:
        return self.starter.ask(wait=self.pid)

    def leaves_nothing(self, family: list[int]) -> None:
        """Raise AssertionError if a process or scratch file is left, or a record is gone."""
        try:
            until(lambda: not alive(*family) and not scratch_of(family))
        except AssertionError:
            commands = [words_of(pid) for pid in alive(*family)]
            raise AssertionError(f"left: {commands}, {scratch_of(family)} of {family}") from None
        lines = self.results()
        assert lines[: len(self.recorded)] == self.recorded, "a record is gone"
        self.recorded = lines

    def finish(self) -> Counter[str]:
        """Run to the end and return the verdicts."""
        self.begin()
        status = self.wait()
        assert status in (0, 1), (self.folder / "log").read_text()
        done = bundle.read_finished(self.folder / "b")
        assert len({case.id for case in done.cases}) == len(done.cases) == self.cases
        return Counter(case.backends["mine"].verdict for case in done.cases)


def children(pid: int) -> list[int]:
    try:
        tasks = [*Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def scratch_of(family: list[int]) -> list[Path]:
    folders = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    return [p for f in folders for pid in family for p in f.glob(f"sampler-parity-{pid}-*")]


def kinds(victim: Victim) -> dict[str, list[int]]:
    """Return the processes of a run by kind; supervisor: that of the main process."""
    of_main = children(victim.pid)
    supervisors = [pid for pid in of_main if "supervisor.py" in words_of(pid)]
    workers = [pid for pid in of_main if pid not in supervisors]
    backends = [p for pid in workers for p in children(pid) if "adapter.py" in words_of(p)]
    return {"main": [victim.pid], "worker": workers, "backend": backends, "supervisor": supervisors}


def words_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def send(victim: Victim, what: str) -> None:
    kind, _, name = what.partition(" ")
    number = getattr(signal, f"SIG{name}")
    if kind == "group":
        os.killpg(victim.pid, number)
    else:
        hit(kinds(victim)[kind][0], number)


def semaphores(family: list[int]) -> list[int]:
    """Return the processes that have a semaphore in shared memory."""
    return [pid for pid in family if "sem." in Path(f"/proc/{pid}/maps").read_text()]


def end_by(signals: dict[str, list[str]], victim: Victim) -> None:
    """End the run in each of these ways, and restart it. Raises AssertionError."""
    for name, each in signals.items():
        (victim.folder / "log").write_text("")
        victim.begin()
        victim.until_more()
        hit(victim.pid, signal.SIGSTOP)  # or it ends while it is looked at
        until(lambda: len(kinds(victim)["backend"]) == 2)
        family = victim.family()
        assert len(family) >= 8, name  # main, 2 workers, 2 backends, 3 supervisors
        assert semaphores(family) == []
        hit(victim.pid, signal.SIGCONT)
        for what in each:
            send(victim, what)
        assert victim.wait() != 0, name
        victim.leaves_nothing(family)
        if all(what.endswith(" INT") for what in each):
            lines = (victim.folder / "log").read_text().splitlines(keepends=True)
            printed = "".join(line for line in lines if not line.startswith("running  "))
            assert re.fullmatch(INTERRUPTED if len(each) == 1 else INTERRUPTED_TWICE, printed), (
                printed
            )


def kill_often(kills: int, seed: int, folder: Path, *fault: str) -> str:
    """Kill runs at random moments and return a line with the result.

    Raises AssertionError.

    Before every other kill something more must be recorded, or a slow machine has nothing to lose.
    """
    with closing(Starter(*fault)) as starter:
        return _kill_often(kills, random.Random(seed), folder, starter)


def _kill_often(kills: int, rng: random.Random, folder: Path, starter: Starter) -> str:
    done, rounds, kept, begun = 0, 0, 0, time.monotonic()
    while done < kills:
        rounds += 1
        (place := folder / str(rounds)).mkdir()
        victim = Victim(starter, place, cases=600)
        for nth in range(min(kills - done, 25)):
            victim.begin()
            if nth % 2 == 0:
                victim.until_more()
            time.sleep(rng.uniform(0, 0.4))
            family = victim.family()
            number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            for pid in family[: rng.choice([1, 1, 3])]:  # now and then its workers, too
                hit(pid, number)
            victim.wait()
            victim.leaves_nothing(family)
            assert victim.recorded, "nothing was recorded before a kill"
            done += 1
        kept += len(victim.recorded)
        log = (place / "log").read_text()
        assert "Traceback" not in log, log
        assert set(victim.finish()) == {"identical"}
    seconds = time.monotonic() - begun
    return f"{done} kills, {rounds} runs, nothing lost of {kept:,} records, {seconds:.0f} s"


def hit(pid: int, number: int) -> None:
    if alive(pid):
        os.kill(pid, number)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(kill_often(int(sys.argv[1]), int(sys.argv[2]), Path(temporary)))
