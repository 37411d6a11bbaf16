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
    """The results of a server by id."""

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


def differing(first: ServerVerdicts, second: ServerVerdicts) -> list[str]:
    """Return the ids that both have, with other verdicts."""
    both = [id for id in first.results if id in second.results]
    return [id for id in both if first.results[id].verdict != second.results[id].verdict]


def lines(first: ServerVerdicts, second: ServerVerdicts) -> Iterator[str]:
    """Yield how many verdicts differ, each with the evidence of both, and what one of them alone
    has."""
    differ = differing(first, second)
    common = first.results.keys() & second.results.keys()
    yield f"compare  {first.name}"
    yield f"with     {second.name}   {len(differ)}/{len(common)} verdicts differ"
    for id in differ:
        was, now = first.results[id], second.results[id]
        yield f"  {id:<{_NAME}} {was.verdict} -> {now.verdict}"
        yield f"    was: {one_line(was.evidence, 200)}"
        yield f"    now: {one_line(now.evidence, 200)}"
    for side, another in ((first, second), (second, first)):
        alone = [id for id in side.results if id not in another.results]
        if alone:
            more = f" and {len(alone) - 8} more" if len(alone) > 8 else ""
            yield f"  {side.name} alone has {', '.join(alone[:8])}{more}"


def compared(bundles: Sequence[Bundle]) -> bool:
    """Print how the servers of bundles differ, and return whether they do not. Raises InputError if
    they have no check in common."""
    first, *rest = server_verdicts(bundles)
    if not all(first.results.keys() & columns.results.keys() for columns in rest):
        raise InputError(
            "compare", "two servers have no check in common", "run the same checks on both"
        )
    for second in rest:
        for line in lines(first, second):
            print_line(line)
    return not any(differing(first, columns) for columns in rest)
