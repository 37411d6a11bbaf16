"""`python -m tests.attack.fuzzing INPUTS SEED`: fuzz all parsers, with one line of output for each.

`python -m tests.attack.fuzzing replay NAME SEED NUMBER` makes one input again and reads it. Each
parser runs in its own process: if it hangs or dies, the number of its input is reported.
"""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tests.attack.fuzzing.table import Fuzzed, inputs
from tests.attack.fuzzing.trial import REFUSED, SECONDS, TAKEN, made, outcome

KEPT = Path("bundles") / "fuzzed"  # inputs that failed
_SILENCE_S = 9 * SECONDS  # longer than an input may take
_SHOWN = 3  # failures of a parser


def numbers_of(rows: dict[str, Fuzzed], total: int) -> dict[str, int]:
    """Return how many inputs each parser gets: in proportion to its weight, at least one."""
    whole = sum(row.weight for row in rows.values())
    return {name: -(-total * row.weight // whole) for name, row in rows.items()}


def outcomes(
    row: Fuzzed, samples: list[bytes], count: int, seed: int, folder: Path
) -> Iterator[tuple[int, str]]:
    """Yield each number with its outcome.

    A process that hangs or ends is an outcome; then a new one starts.
    """
    fork, number = get_context("fork"), 0
    while number < count:
        ours, theirs = fork.Pipe(duplex=False)
        arguments = (row, samples, range(number, count), seed, folder, theirs)
        process = fork.Process(target=_read_all, args=arguments)
        process.start()
        theirs.close()
        try:
            while number < count:
                if not ours.poll(_SILENCE_S):
                    raise TimeoutError
                yield number, ours.recv()
                number += 1
        except (EOFError, TimeoutError) as error:
            process.kill()
            process.join()
            hung = isinstance(error, TimeoutError)
            yield number, "hangs" if hung else f"its process ended: {process.exitcode}"
            number += 1
        process.join()
        ours.close()


def _read_all(
    row: Fuzzed, samples: list[bytes], numbers: range, seed: int, folder: Path, pipe: Connection
) -> None:
    path = folder / row.file
    for number in numbers:
        path.write_bytes(made(row, samples, seed, number))
        pipe.send(outcome(row, path))


def fuzz(rows: dict[str, Fuzzed], total: int, seed: int, kept: Path = KEPT) -> Iterator[str]:
    """Yield a line for each parser, and the lines of each failure."""
    bad, begun = 0, time.monotonic()
    for name, count in numbers_of(rows, total).items():
        counted: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            samples = rows[name].prepare(Path(folder))
            for number, result in outcomes(rows[name], samples, count, seed, Path(folder)):
                kind = result if result in (TAKEN, REFUSED) else "failed"
                counted[kind] += 1
                if kind == "failed" and counted["failed"] <= _SHOWN:
                    content = made(rows[name], samples, seed, number)
                    yield from _failure(name, content, kept, seed, number, result)
        bad += counted["failed"]
        yield (
            f"{name:<28} {count:>7,} inputs {counted[TAKEN]:>7,} taken"
            f" {counted[REFUSED]:>7,} refused {counted['failed']:>3,} failed"
        )
    done, seconds = sum(numbers_of(rows, total).values()), time.monotonic() - begun
    state = "FAILED" if bad else "ok"
    yield f"{state}: {done:,} inputs, seed {seed}, {bad:,} failed, {seconds:.0f} s"


def _failure(
    name: str, content: bytes, kept: Path, seed: int, number: int, result: str
) -> Iterator[str]:
    """Yield the failure, the path of the file, and the command that reads it again."""
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name.replace(' ', '-')}.{seed}.{number}"
    path.write_bytes(content)
    yield result.rstrip()
    yield f"FAILED {name}: seed {seed}, number {number}: {path}"
    yield f"  replay: python -m tests.attack.fuzzing replay {name!r} {seed} {number}"


def replay(name: str, seed: int, number: int) -> str:
    row = inputs()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / row.file
        path.write_bytes(made(row, row.prepare(Path(folder)), seed, number))
        return outcome(row, path)


def main() -> None:
    if sys.argv[1] == "replay":
        print(replay(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
        return
    last = ""
    for last in fuzz(inputs(), int(sys.argv[1]), int(sys.argv[2])):
        print(last, flush=True)
    sys.exit(last.startswith("FAILED"))


if __name__ == "__main__":
    main()
