"""The timing part of a run: suites/timing and suites/throughput, after everything else, alone."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from harness import backend_names, conditions, throughput, timing
from harness.bundle import BundleWriter
from harness.process import BackendProcess
from harness.suite import suite_id

GROUPS = ("timing", "throughput")  # folders of suites with formats of their own
FLOOR = "null"

_ROUNDS = {True: 15, False: 30}  # quick, full
_GENERATIONS = {True: 6, False: 12}


def is_timing(path: Path) -> bool:
    return path.resolve().parent.name in GROUPS


def run_timings(
    paths: list[Path],
    names: list[str],
    writer: BundleWriter,
    seed: int,
    quick: bool,
    say: Callable[[str], object],
) -> None:
    """Time what the suites name on every backend, the first as the baseline; append each result."""
    chains = [(p, t) for p in _of("timing", paths) for t in timing.read_timings(p, quick)]
    widths = [(p, w) for p in _of("throughput", paths) for w in throughput.read_widths(p, quick)]
    with ExitStack() as stack:
        backends = [_started(stack, name) for name in names]
        again = _started(stack, names[0])
        floor = [_started(stack, FLOOR)] if FLOOR not in names else []
        under = conditions.pin([*backends, *floor, again]) if chains else None
        for path, chain in chains:
            if f"timing/{chain.id}" not in writer.done:
                timed = timing.time_chain(
                    chain, backends + floor, _ROUNDS[quick], seed, again, under
                )
                writer.append(timed.model_copy(update={"suite": suite_id(path)}))
    if chains:
        say(f"timed    {len(chains)} chains on {', '.join(names)}")
    with ExitStack() as stack:  # new processes: decoding is not pinned
        backends = [_started(stack, name) for name in names]
        again = _started(stack, names[0])
        for path, width in widths:
            if width.id not in writer.done:
                measured = throughput.measure(width, backends, _GENERATIONS[quick], seed, again)
                writer.append(measured.model_copy(update={"suite": suite_id(path)}))
    if widths:
        say(f"decoded  {len(widths)} settings on {', '.join(names)}")


def _of(group: str, paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.resolve().parent.name == group]


def _started(stack: ExitStack, name: str) -> BackendProcess:
    """Starts on its first request."""
    process = backend_names.start(name)
    stack.callback(process.close)
    return process
