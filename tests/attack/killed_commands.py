"""Commands that are killed while they write: `python -m tests.attack.killed_commands N SEED`.

`engines add`, `builds make` and `history add` are killed in turn, N times together, at a random
moment of the time that they take. After every kill no process of the command is alive. The
command then succeeds: nothing is lost, doubled or locked. Runs have tests/attack/killing.py,
recordings tests/attack/killed_recordings.py.
"""

import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from sampler_parity.harness.backends import environments, installing
from sampler_parity.harness.comparison import history
from sampler_parity.harness.engines.engine_file import Environment
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp.platforms import make as recipes
from tests.attack.killed_recordings import command, finished, forked, marked
from tests.support.alive import until
from tests.support.report_bundles import case, got, run_info, write_bundle

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
ROW = Environment(name="toy", kind="python", needs=["toy==1.0"])
FILES = {f"file{i}": bytes([i]) * 200_000 for i in range(8)}
# Stands for `python -m venv` and `pip`: a process that starts another one and writes for a while.
PIP = 'sleep 0.02 & mkdir -p "$1/bin"; for i in 1 2 3 4; do echo $i >> "$1/bin/python"; \
sleep 0.01; done; [ -z "$2" ] || echo \'{"install": []}\' > "$2"; wait'


@dataclass
class Victim:
    """A command. before: prepares. after: checks what a kill left, and that the command then
    succeeds; raises AssertionError."""

    words: tuple[object, ...]
    before: Callable[[], object]
    after: Callable[[], object]


def succeeds(words: tuple[object, ...], folder: Path) -> None:
    status = finished(command(*words), folder / "again")
    assert status == 0, (folder / "again.err").read_text()


def engines(folder: Path) -> Victim:
    words = ("engines", "add", "toy")
    place = environments.folder_of("toy")

    def before() -> None:
        if place.exists():
            succeeds(("engines", "remove", "toy"), folder)

    def after() -> None:
        if environments.record_of(place) is not None:
            assert environments.python_of(place).read_text() == "1\n2\n3\n4\n" * 2
        succeeds(words, folder)
        assert environments.missing("toy") == ""
        assert environments.python_of(place).read_text() == "1\n2\n3\n4\n" * 2

    return Victim(words, before, after)


def builds(folder: Path) -> Victim:
    words = ("builds", "make", "toy")
    place = recorded.builds_folder() / "toy"

    def before() -> None:
        if not place.exists():
            succeeds(words, folder)

    def after() -> None:
        aside = place.parent / ".toy/old"
        left = aside if aside.exists() and not place.exists() else place
        assert {name: (left / name).read_bytes() for name in FILES} == FILES, "a build is lost"
        succeeds(words, folder)
        assert recorded.unchanged("toy").keys() == FILES.keys()
        assert [path.name for path in place.parent.iterdir() if path.is_dir()] == ["toy"]

    return Victim(words, before, after)


def histories(folder: Path) -> Victim:
    many = [case(f"{n:03d}", {"a": got()}) for n in range(40)]
    bundles = [write_bundle(folder / f"b{i}", run_info("a", seed=i), many) for i in range(3)]
    file = folder / "h.sqlite"
    words = ("history", "add", *bundles[1:], "-d", file)

    def before() -> None:
        file.unlink(missing_ok=True)
        succeeds(("history", "add", bundles[0], "-d", file), folder)

    def after() -> None:
        with closing(sqlite3.connect(file)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM run").fetchone()
        assert count in (1, 3), "half of the bundles"
        succeeds(words, folder)
        assert [run.name for run in history.runs(file)] == ["b0", "b1", "b2"]

    return Victim(words, before, after)


def stand_ins(folder: Path) -> list[Any]:
    """Return patches of this process: a cache of its own, an engine and a recipe without network
    or compiler."""
    (folder / "locked").write_text("toy==1.0\n")
    there: dict[str, Any] = {"compiler": ("sh",), "c_compiler": "sh", "program": "file0"}
    toy = next(iter(recipes.made().values())).model_copy(update=there)
    run = installing._run

    def pip(words: list[str], place: Path, what: str) -> None:
        report = words[words.index("--report") + 1] if what == "pip" else ""
        run(["/bin/sh", "-c", PIP, "sh", str(place), report], place.parent, what)

    def compiled(_recipe: Any, place: Path) -> None:
        for name, content in FILES.items():
            time.sleep(0.005)
            (place / name).write_bytes(content)

    return [
        mock.patch.dict(os.environ, XDG_CACHE_HOME=str(folder / "cache")),
        mock.patch.object(environments, "all_environments", return_value={"toy": ROW}),
        mock.patch.object(Environment, "locked", property(lambda _row: folder / "locked")),
        mock.patch.object(installing, "_run", pip),
        mock.patch.object(recipes, "made", return_value={"toy": toy}),
        mock.patch.object(recipes, "compile_alone", compiled),
    ]


def kill_often(kills: int, seed: int, folder: Path) -> str:
    """Kill and return a line with the result. Raises AssertionError."""
    rng, begun = random.Random(seed), time.monotonic()
    for patch in stand_ins(folder):
        patch.start()
    victims = {"engines": engines, "builds": builds, "history": histories}
    made = {name: make(folder) for name, make in victims.items()}
    takes: dict[str, float] = {}
    done: Counter[str] = Counter()
    while sum(done.values()) < kills:
        name = rng.choice(list(made))
        victim, number = made[name], rng.choice(SIGNALS)
        victim.before()
        started = time.monotonic()
        if name not in takes:
            succeeds(victim.words, folder)
            takes[name] = time.monotonic() - started
            continue
        pid = forked(command(*victim.words), folder / "log")
        time.sleep(rng.uniform(0, 1.1 * takes[name]))
        os.kill(pid, number)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        until(lambda: not marked(folder), 20)
        text = (folder / "log.err").read_text()
        assert "Traceback" not in text, text
        victim.after()
        done[f"{name} {'before its end' if status else 'after its end'}"] += 1
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    seconds = time.monotonic() - begun
    return f"{kills} kills ({kinds}): nothing lost, doubled, alive or locked, {seconds:.0f} s"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(kill_often(int(sys.argv[1]), int(sys.argv[2]), Path(temporary)))
