"""The timing part of a run: what suites time, after everything else, alone."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.bundle import BundleWriter
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.blocks.throughput import Width
from sampler_parity.harness.suite.blocks.timing import TimedChain
from sampler_parity.harness.suite.file import (
    Profile,
    SuiteFile,
    expand_timings,
    expand_widths,
    suite_id,
)
from sampler_parity.harness.timing import conditions, instructions, throughput
from sampler_parity.harness.timing import rounds as timing

FLOOR = "null"

_ROUNDS = {True: 15, False: 30}  # quick, full
_GENERATIONS = {True: 6, False: 12}


@dataclass(frozen=True)
class Timed:
    """What is to be timed: (suite, chain) and (suite, width), with the ids that a bundle has."""

    chains: list[tuple[str, TimedChain]]
    widths: list[tuple[str, Width]]

    @property
    def ids(self) -> list[str]:
        chains = [chain.result_id for _, chain in self.chains]
        return [*chains, *(width.id for _, width in self.widths)]

    def only(self, wanted: Callable[[str], bool]) -> "Timed":
        return Timed(
            [pair for pair in self.chains if wanted(pair[1].result_id)],
            [pair for pair in self.widths if wanted(pair[1].id)],
        )


def read(files: list[SuiteFile], profile: Profile) -> Timed:
    """What suites time. Raises InputError."""
    named = [(suite_id(file.path), file) for file in files]
    return Timed(
        [(suite, timed) for suite, file in named for timed in expand_timings(file, profile)],
        [(suite, width) for suite, file in named for width in expand_widths(file, profile)],
    )


def rule_timings() -> Timed:
    """Every sampler alone: what the rule on reference : llama.cpp is measured on."""
    return Timed([("timing/samplers", chain) for chain in timing.rule_chains()], [])


def run_timings(
    todo: Timed,
    names: list[str],
    writer: BundleWriter,
    seed: int,
    quick: bool,
    say: Callable[[str], object],
    count: bool = False,
    rounds: int | None = None,
) -> None:
    """Time it on every backend, the first as the baseline; append each result.

    count: the instructions, too. rounds: of every chain, in place of the profile's.
    """
    chains = [pair for pair in todo.chains if pair[1].result_id not in writer.done]
    widths = [pair for pair in todo.widths if pair[1].id not in writer.done]
    if chains:
        with ExitStack() as stack:
            floor = [] if FLOOR in names else [FLOOR]
            *backends, again = (_started(stack, name) for name in [*names, *floor, names[0]])
            under = conditions.pin([*backends, again])
            for suite, chain in chains:
                turns = rounds or _ROUNDS[quick]
                found = timing.time_chain(chain, backends, turns, seed, again, under)
                found = found.model_copy(update={"suite": suite})
                writer.append(instructions.counted(found, chain) if count else found)
        say(f"timed    {len(chains)} chains on {', '.join(names)}")
    if widths:
        with ExitStack() as stack:  # new processes: decoding is not pinned
            *backends, again = (_started(stack, name) for name in [*names, names[0]])
            for suite, width in widths:
                measured = throughput.measure(width, backends, _GENERATIONS[quick], seed, again)
                writer.append(measured.model_copy(update={"suite": suite}))
        say(f"decoded  {len(widths)} settings on {', '.join(names)}")


def _started(stack: ExitStack, name: str) -> BackendProcess:
    """Starts on its first request."""
    process = registry.start(name)
    stack.callback(process.close)
    return process
