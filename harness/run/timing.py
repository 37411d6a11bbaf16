"""The timing part of a run: what suites time, after everything else, alone."""

from contextlib import ExitStack

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.writer import BundleWriter
from sampler_parity.harness.checks.progress import Seen, unseen
from sampler_parity.harness.checks.throughput import run as throughput
from sampler_parity.harness.checks.throughput.block import Width
from sampler_parity.harness.checks.timing import conditions, instructions
from sampler_parity.harness.checks.timing import run as timing
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import Profile

FLOOR = "null"

ROUNDS: dict[Profile, int] = {"quick": 15, "full": 30}
GENERATIONS: dict[Profile, int] = {"quick": 6, "full": 12}


def time_chains(
    chains: list[tuple[str, TimedChain]],
    names: list[str],
    rounds: int,
    writer: BundleWriter,
    seed: int,
    count: bool = False,
    timeout_s: float = 60.0,
    seen: Seen = unseen,
) -> None:
    """Time (suite, chain) pairs on every backend, the first as the baseline; append each result.

    count: the instructions, too.
    """
    with ExitStack() as stack:
        floor = [] if FLOOR in names else [FLOOR]
        *backends, again = (_started(stack, name, timeout_s) for name in [*names, *floor, names[0]])
        under = conditions.pin([*backends, again])
        for suite, chain in chains:
            result = timing.time_chain(chain, backends, rounds, seed, again, under, _rounds(seen))
            result = result.model_copy(update={"suite": suite})
            result = instructions.counted(result, chain) if count else result
            writer.append(result)
            seen([result])


def decode_widths(
    widths: list[tuple[str, Width]],
    names: list[str],
    generations: int,
    writer: BundleWriter,
    seed: int,
    timeout_s: float = 60.0,
    seen: Seen = unseen,
) -> None:
    """Decode (suite, width) pairs on every backend; append each result.

    In new processes: decoding is not pinned.
    """
    with ExitStack() as stack:
        *backends, again = (_started(stack, name, timeout_s) for name in [*names, names[0]])
        for suite, width in widths:
            result = throughput.measure(width, backends, generations, seed, again, _rounds(seen))
            result = result.model_copy(update={"suite": suite})
            writer.append(result)
            seen([result])


def _rounds(seen: Seen) -> timing.Round:
    """Who watches is told of every round."""
    return lambda number, of: seen([], f"round {number} of {of}")


def _started(stack: ExitStack, name: str, timeout_s: float) -> BackendProcess:
    """Starts on its first request."""
    process = registry.start(name, timeout_s)
    stack.callback(process.close)
    return process
