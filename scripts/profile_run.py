"""Show where the processor time of a command goes: `python -m scripts.profile_run ARGUMENTS`.

The arguments are those of `sampler-parity`. Every few milliseconds of its processor time each
process writes down its stack, forked processes included. Programs that are started anew, such as
supervisors, are not sampled; their time is in the total.
"""

import os
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from scripts.install import OURS

ROOT = Path(__file__).resolve().parent.parent
EVERY_S = 0.002  # the system may round it up
PROCESSES = ("command", "judge", "backend")  # by the number of forks
ROWS = 30


@dataclass
class Sampler:
    """Appends a line to a file for each sample: the process, the innermost function, and our
    functions from the outermost."""

    path: Path
    forks: int = 0
    outer: int = 0  # frames of the parents of this process
    names: dict[CodeType, str] = field(default_factory=dict)

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self.sample)
        os.register_at_fork(after_in_child=self.forked)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def forked(self) -> None:
        """Set the timer of a copy of the process, which has none."""
        self.forks += 1
        self.outer = sum(1 for _ in _outwards(sys._getframe(1)))
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def sample(self, _signal: int, frame: FrameType | None) -> None:
        stack = [self.name(each.f_code) for each in _outwards(frame)]
        stack = stack[: len(stack) - self.outer] or ["python:?"]
        ours = [name for name in reversed(stack) if name.startswith(OURS)]
        process = PROCESSES[min(self.forks, len(PROCESSES) - 1)]
        with self.path.open("a") as file:  # each time: a backend closes the files of its parent
            file.write("\t".join([process, stack[0], *ours]) + "\n")

    def name(self, code: CodeType) -> str:
        if code not in self.names:
            self.names[code] = _name(code)
        return self.names[code]


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _name(code: CodeType) -> str:
    """Return `harness/run/plan.py:plan_of` for our own function, `json:dumps` for another."""
    path, function = Path(code.co_filename), code.co_qualname
    if path.is_relative_to(ROOT) and ".venv" not in path.parts:
        # Packages are imported through the links in sampler_parity/.
        file = path.relative_to(ROOT).as_posix().removeprefix("sampler_parity/")
        return f"{file}:{function}"
    parts = path.parts
    if "site-packages" in parts:
        return f"{parts[parts.index('site-packages') + 1]}:{function}"
    return f"python {path.stem if path.stem != '__init__' else path.parent.name}:{function}"


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        sampler = Sampler(Path(folder) / "samples")
        sampler.path.touch()
        sampler.start()
        sys.argv = ["sampler-parity", *arguments]
        status: object = 0
        try:
            from sampler_parity.harness.cli.app import main as command

            command()
        except SystemExit as ended:
            status = ended.code
        signal.setitimer(signal.ITIMER_PROF, 0)
        samples = [line.split("\t") for line in sampler.path.read_text().splitlines()]
    print(*report(samples, _seconds()), sep="\n")
    return status if isinstance(status, int) else 1


def _seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def report(samples: list[list[str]], seconds: float) -> Iterable[str]:
    """Yield tables. Each shows the share of all samples, and that share of `seconds`."""

    def table(title: str, names: Iterable[str]) -> Iterator[str]:
        yield f"\n{title}"
        for name, n in Counter(names).most_common(ROWS):
            yield f"{seconds * n / len(samples):7.2f} s {n / len(samples):6.1%}  {name}"

    yield f"{seconds:.1f} s of processor time, {len(samples):,} samples"
    yield from table("process", (process for process, *_ in samples))
    yield from table(
        "package of the innermost function of ours; libraries count to their caller",
        (f"{process:8} {_package(ours)}" for process, _, *ours in samples),
    )
    yield from table("library", (_library(inner) for _, inner, *_ in samples))
    yield from table(
        "function of ours with all that it calls",
        (f"{process:8} {name}" for process, _, *ours in samples for name in {*ours}),
    )
    yield from table(
        "function of ours with the libraries that it calls",
        (f"{process:8} {ours[-1]}" for process, _, *ours in samples if ours),
    )


def _package(ours: list[str]) -> str:
    return ours[-1].partition(":")[0].rpartition("/")[0] if ours else "none: imports, end"


def _library(name: str) -> str:
    return "our code" if name.startswith(OURS) else name.partition(":")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
