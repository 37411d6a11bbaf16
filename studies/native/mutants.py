"""`python -m studies.native.mutants`: which faults in llama.cpp's samplers our cases catch.

Every mutant is a switch in one library (mutate.py). A first pass runs every case without a mutant
and notes which switches each evaluates (known.py). Then each mutant runs, in a process of its own,
the cases that evaluate its switch, cheapest first, until one has another result. A crash and a
timeout count as caught and are reported separately. Survivors must be judged in survivors.toml.
Results lie in OUTPUT/mutants.jsonl; a restart continues with the missing ones.

Exit status 1 if a survivor is not judged, or a judgement's mutant is caught.
"""

import argparse
import json
import math
import os
import random
import resource
import select
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sampler_parity.harness.errors import InputError
from studies.native import sources
from studies.native.known import Known, Switches, known
from studies.native.mutate import Mutant, Program

COUNT = 400
# Drawn once by the seed 20261122 from what the cases reached then: which are drawn must not change
# with what they reach.
SAMPLE = Path(__file__).parent / "sample.txt"
JUDGED = Path(__file__).parent / "survivors.toml"
# The limit of a case with a mutant: SLOWER times its processor seconds without one, so that another
# load of the machine makes no timeout. A process that waits for nothing is ended by the clock.
SLOWER, AT_LEAST_S, WAITS_S = 20.0, 2.0, 120.0


@dataclass(frozen=True)
class Outcome:
    """of: caught, crashed, timeout, survived. case: the one that caught it."""

    mutant: str
    of: str
    case: str = ""
    seconds: float = 0.0
    cases: int = 0


def main() -> int:
    parser = argparse.ArgumentParser("studies.native.mutants", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("bundles/native-mutants"))
    parser.add_argument("--bundles", type=Path, default=Path("bundles/native-coverage/bundles"))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, help="draw others than those of sample.txt")
    parser.add_argument("--for", dest="minutes", type=float, default=60.0, help="minutes")
    asked = parser.parse_args()
    folder = asked.output.resolve()
    try:
        program, library = made(folder)
        switches, cases = known(library, len(program.mutants), asked.bundles)
        reached = sorted(frozenset().union(*(one.reached for one in cases)))
        if asked.seed is None:
            chosen = listed(program.mutants, SAMPLE)
        else:
            chosen = sample(program.mutants, reached, asked.count, asked.seed)
        print(f"{len(program.mutants)} mutants, {len(reached)} reached, {len(chosen)} chosen")
        outcomes = run(chosen, cases, switches, folder / "mutants.jsonl", asked.minutes * 60)
        problems = judge(outcomes, judgements(), judgements(of="by_chance"))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    counts = Counter(outcome.of for outcome in outcomes)
    print(", ".join(f"{n} {of}" for of, n in counts.most_common()), f"of {len(chosen)}")
    for problem in problems:
        print(f"FAILED {problem}", file=sys.stderr)
    return 1 if problems or len(outcomes) < len(chosen) else 0


def made(folder: Path) -> tuple[Program, Path]:
    """Return the mutants of llama-sampler.cpp and the folder of the library with their switches."""
    tree = sources.sources()
    includes = [f"-I{tree / place}" for place in sources.INCLUDES]
    program = Program(tree / sources.SAMPLER, includes)
    folder.mkdir(parents=True, exist_ok=True)
    source, build = folder / "llama-sampler.cpp", folder / "build"
    text = program.text()
    if not (build / sources.LIBRARY).exists() or source.read_bytes() != text:
        source.write_bytes(text)
        sources.build(build, [source], ["-O2", f"-I{tree / 'src'}"], tree)
    return program, build


def listed(mutants: Sequence[Mutant], path: Path) -> list[Mutant]:
    """Return the mutants that a file names, a line each. Raises InputError for a removed one."""
    by_name = {mutant.name: mutant for mutant in mutants}
    names = path.read_text(encoding="utf-8").splitlines()
    if gone := [name for name in names if name not in by_name]:
        raise InputError(path, f"names a mutant that is not made: {gone[0]}", "leave it out")
    return [by_name[name] for name in names]


def sample(
    mutants: Sequence[Mutant], reached: Sequence[int], count: int, seed: int
) -> list[Mutant]:
    """Draw `count` of the mutants that a case evaluates by this seed, in the order of the source.

    The second mutant of a switch is reached with its first: switches go by the first's number.
    """
    live = [
        m
        for m in mutants
        if m.number in set(reached) or (m.number - 1 in set(reached) and not m.first)
    ]
    chosen = random.Random(seed).sample(live, min(count, len(live)))
    return sorted(chosen, key=lambda mutant: mutant.number)


def run(
    chosen: list[Mutant], cases: list[Known], switches: Switches, path: Path, seconds: float
) -> list[Outcome]:
    """Return the outcome of each mutant, those of an earlier run read from the file.

    Stops when the time is over; finished ones are in the file.
    """
    done = {o.mutant: o for o in read(path)}
    end = time.monotonic() + seconds
    with path.open("a", encoding="utf-8") as file:
        for mutant in chosen:
            if mutant.name in done:
                continue
            if time.monotonic() > end:
                break
            switch = mutant.number if mutant.first else mutant.number - 1
            its = sorted((c for c in cases if switch in c.reached), key=lambda c: c.seconds)
            outcome = try_one(mutant, its, switches)
            done[mutant.name] = outcome
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
    return [done[mutant.name] for mutant in chosen if mutant.name in done]


def read(path: Path) -> list[Outcome]:
    if not path.exists():
        return []
    return [Outcome(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def try_one(mutant: Mutant, cases: list[Known], switches: Switches) -> Outcome:
    """Run the cases in a process of its own, until one does not pass.

    It reports the position of every case before it runs it, and at the end how it ended.
    """
    start = time.perf_counter()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _child(mutant.number, cases, switches, writing)
    os.close(writing)
    position, ended = _listen(reading)
    os.close(reading)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = round(time.perf_counter() - start, 3)
    late = not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
    of = "timeout" if late else "crashed" if os.WIFSIGNALED(status) else ""
    of = of or {0: "survived", 1: "caught"}.get(os.waitstatus_to_exitcode(status), "crashed")
    last = cases[position].id if of != "survived" else ""
    return Outcome(mutant.name, of, last, seconds, position + 1)


def _child(number: int, cases: list[Known], switches: Switches, writing: int) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    switches.turn_on(number)
    code = 0
    for case in cases:
        os.write(writing, b".")
        spent = time.process_time() + AT_LEAST_S + SLOWER * case.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent), resource.RLIM_INFINITY))
        try:
            if not case.passes():
                code = 1
                break
        except BaseException:  # a result that cannot be compared is wrong
            code = 1
            break
    os._exit(code)


def _listen(reading: int) -> tuple[int, bool]:
    """Return the position of the last begun case, and whether the process ended by itself."""
    begun = 0
    while True:
        if not select.select([reading], [], [], WAITS_S)[0]:
            return max(begun - 1, 0), False
        received = os.read(reading, 1 << 16)
        if not received:
            return max(begun - 1, 0), True
        begun += len(received)


def judgements(path: Path = JUDGED, of: str = "survivor") -> dict[str, str]:
    """Return by the mutant's name why nothing can distinguish it. of: also "by_chance", whose
    result depends on what lies in memory. Raises InputError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get(of, [])
        return {entry["mutant"]: entry["why"] for entry in entries}
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise InputError(path, f"is no list of survivors: {error}") from None


def judge(
    outcomes: list[Outcome], why: dict[str, str], by_chance: Collection[str] = ()
) -> list[str]:
    """Return a line for each survivor without a judgement, and each judgement of a caught one.
    by_chance: mutants that may be caught or not."""
    problems = []
    for outcome in outcomes:
        if outcome.mutant in by_chance:
            continue
        if outcome.of == "survived" and outcome.mutant not in why:
            problems.append(f"survived, not judged: {outcome.mutant}")
        if outcome.of != "survived" and outcome.mutant in why:
            problems.append(f"judged, but caught by {outcome.case}: {outcome.mutant}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
