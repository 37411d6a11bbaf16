"""Checks with other verdicts: of two servers, or of two releases of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.cli.output import print_line
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.programs.servers.server_record import ServerResult

_NAME = 34


@dataclass(frozen=True)
class ServerVerdicts:
    """Hold the results of a server by id."""

    name: str
    results: dict[str, ServerResult]


def server_verdicts(bundles: Sequence[Bundle]) -> list[ServerVerdicts]:
    """Return every server of the bundles, in their order."""
    columns = []
    for bundle in bundles:
        all_results = bundle.of(ServerResult)
        for server in dict.fromkeys(result.server for result in all_results):
            about = bundle.backend(server).version
            results = {result.id: result for result in all_results if result.server == server}
            columns.append(ServerVerdicts(f"{server} ({about}) of {bundle.folder}", results))
    return columns


def differing(first: ServerVerdicts, other: ServerVerdicts) -> list[str]:
    """Return the ids that both have, with other verdicts."""
    both = [id for id in first.results if id in other.results]
    return [id for id in both if first.results[id].verdict != other.results[id].verdict]


def lines(first: ServerVerdicts, other: ServerVerdicts) -> Iterator[str]:
    """Yield how many verdicts differ, each with the evidence of both, and what one of them alone
    has."""
    differ = differing(first, other)
    common = first.results.keys() & other.results.keys()
    yield f"compare  {first.name}"
    yield f"with     {other.name}   {len(differ)}/{len(common)} verdicts differ"
    for id in differ:
        was, now = first.results[id], other.results[id]
        yield f"  {id:<{_NAME}} {was.verdict} -> {now.verdict}"
        yield f"    was: {one_line(was.evidence, 200)}"
        yield f"    now: {one_line(now.evidence, 200)}"
    for one, another in ((first, other), (other, first)):
        alone = [id for id in one.results if id not in another.results]
        if alone:
            more = f" and {len(alone) - 8} more" if len(alone) > 8 else ""
            yield f"  {one.name} alone has {', '.join(alone[:8])}{more}"


def compared(bundles: Sequence[Bundle]) -> bool:
    """Print how the servers of bundles differ, and return whether they do not. Raises InputError if
    they were asked different things."""
    first, *others = server_verdicts(bundles)
    if not all(first.results.keys() & other.results.keys() for other in others):
        raise InputError("compare", "the servers were not asked the same", "check them alike")
    for other in others:
        for line in lines(first, other):
            print_line(line)
    return not any(differing(first, other) for other in others)
