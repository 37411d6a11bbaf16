"""`python -m scripts.compare_speed BASE [NAME ...]`: our processor time divided by that of another
commit.

BASE: a checkout of it with its own .venv (`make setup`). Each command runs in both checkouts, in
turn, and twice in this one: two runs of the same code show the noise. Names choose commands. The
time is that of the processor, of all processes. A line for each command has the median ratio with
its interval, the verdict that timed chains have too, and the least times. Exit status 2 if a
command fails. No ratio is a failure.
"""

import argparse
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from sampler_parity.harness.checks.timing.verdict import compare_rounds, noise_of

HERE = Path(__file__).resolve().parent.parent
EFFECT = 0.05  # a smaller change is "same-within"
# What each command times. {bundle}: of `run`, made by the same checkout; {new}: does not exist.
COMMANDS = {
    "start": "--help",
    "suites": "list cases parity/chains",
    "run": "run parity/chains parity/penalties -b reference -j 1 -q -o {new}",
    "backend": "run parity/chains parity/penalties -b llama.cpp -j 1 -q -o {new}",
    "report": "report {bundle} -o {new}",
    "gate": "gate {bundle}",
    "explain": "explain {bundle}",
}


def main() -> int:
    parser = argparse.ArgumentParser("scripts.compare_speed", description=__doc__)
    parser.add_argument("base", type=Path, metavar="BASE")
    # [] is what argparse looks up if no name is given.
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*COMMANDS, []])
    parser.add_argument("--rounds", type=int, default=8, metavar="N")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trees = {"base": asked.base.resolve(), "here": HERE}
        for name, tree in trees.items():
            seconds_of(tree, COMMANDS["run"], Path(folder) / name, new="bundle")
        for name in asked.names or COMMANDS:
            print(line_of(name, trees, Path(folder), asked.rounds), flush=True)
    return 0


def line_of(name: str, trees: dict[str, Path], folder: Path, rounds: int) -> str:
    """Return the figures of a command. The first round does not count."""
    base, here, again = list[float](), list[float](), list[float]()
    for number in range(rounds + 1):
        of = {"base": base, "here": here, "again": again}
        for which, times in of.items():
            tree = "here" if which == "again" else which
            new = f"{name}-{which}-{number}"
            seconds = seconds_of(trees[tree], COMMANDS[name], folder / tree, new)
            times += [seconds] if number else []
    got = compare_rounds(here, base, noise_of(here, again), EFFECT)
    interval = f"{got.ratio:.2f} [{got.low:.2f}, {got.high:.2f}]"
    return f"{name:<8} {interval}  {got.verdict:<12} {min(here):.2f} s of {min(base):.2f} s"


def seconds_of(tree: Path, command: str, folder: Path, new: str) -> float:
    """Run a command of a checkout in a folder; return the seconds of the processor. A command that
    fails ends the program."""
    folder.mkdir(exist_ok=True)
    words = shlex.split(command.format(bundle="bundle", new=new))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [tree / ".venv/bin/sampler-parity", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(f"{tree}: {shlex.join(words)}: {done.stderr or done.stdout}", file=sys.stderr)
        sys.exit(2)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
