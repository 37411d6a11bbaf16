"""Name causes first: a parameter without effect or a seed that does not repeat fails many results.

`first_look` asks about single effects before everything else. `attributed` then lists a failing
result under the cause that its request relies on: its own verdict has to wait for that.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import Dialect, ServerParameter
from sampler_parity.programs.servers.effects import EFFECTS
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.oracle.registry import own_tests
from sampler_parity.programs.servers.parameters import fill, prepare
from sampler_parity.programs.servers.probe import Probe, Undetermined
from sampler_parity.programs.servers.server_record import ServerResult

MOST = 3  # causes on the screen
_QUICKLY = ("greedy", "forces", "stops", "length", "spreads", "moves")  # a few requests each


@dataclass(frozen=True)
class Cause:
    """Why results fail. id: the result that is about it. name: the parameter."""

    id: str
    name: str
    line: str


def first_look(client: Client) -> list[Cause]:
    """Return parameters without effect, the seed first. A server that fails has no cause yet."""
    probe, causes = Probe(client), list[Cause]()
    try:
        prepare(probe)
        hot = probe.hot()
        rows = [row for row in client.dialect.parameters if row.documented]
        if any(row.name == "seed" for row in rows) and not (probe.seeds or hot.refusal):
            causes.append(Cause("parameter/seed", "seed", "a seed does not repeat"))
        for row in rows:
            of_another = any(cause.name in row.also for cause in causes)
            if row.effect in _QUICKLY and client.selects(row.name) and not of_another:
                causes += _without_effect(probe, row)
    except ServerFailure:
        pass  # the results name it
    return causes


def _without_effect(probe: Probe, row: ServerParameter) -> Iterator[Cause]:
    try:
        verdict = EFFECTS[row.effect](probe, fill(probe, row)).verdict
    except Undetermined:
        return
    if verdict in ("ignored", "error"):
        line = f"{row.name} {'has no effect' if verdict == 'ignored' else 'is refused'}"
        yield Cause(f"parameter/{row.name}", row.name, line)


def attributed(result: ServerResult, causes: Sequence[Cause], dialect: Dialect) -> ServerResult:
    """Return the result with the id of the cause that its request relies on."""
    stands_alone = (
        result.met or result.verdict == "skipped" or result.id in {cause.id for cause in causes}
    )
    if stands_alone or not result.sent:
        return result
    sent = json.loads(result.sent)
    sent = sent.get(dialect.group, {}) if dialect.group else sent
    rows, exact = {row.name: row for row in dialect.parameters}, _compares_values(result, dialect)
    # Every request states its length.
    stated = [row.name for row in dialect.parameters if row.effect != "length"]
    of_parameters = [cause for cause in causes if cause.name in stated and "leaks" not in cause.id]
    for cause in sorted(of_parameters, key=lambda cause: cause.name == "seed"):
        relies = _drawn(sent) if cause.name == "seed" else _relies(sent, rows[cause.name], exact)
        if relies:
            return result.model_copy(update={"cause": cause.id})
    return result


def _drawn(sent: dict[str, Any]) -> bool:
    """Return whether the texts of a request are drawn with a seed."""
    return "seed" in sent and sent.get("temperature") != 0


def _compares_values(result: ServerResult, dialect: Dialect) -> bool:
    """Return whether a result compares values with the request's, where any default counts."""
    of_values = result.group in ("parameter", "exact", "law")
    return of_values or result.name in {"every answer: settings", *own_tests(dialect.name)}


def _relies(sent: dict[str, Any], row: ServerParameter, exact: bool) -> bool:
    """Return whether a request states a value with effect. exact: or one that is not what a server
    without the parameter has."""
    value = sent.get(row.name)
    return value not in (None, row.neutral) or (exact and value not in (None, row.default))


@dataclass(frozen=True)
class CauseGroup:
    """A failing result, and the results that are listed under it."""

    result: ServerResult
    under: list[ServerResult]


def by_cause(checked: Bundle) -> list[CauseGroup]:
    """Return failing results with those under them, the largest groups first."""
    failing = [r for r in checked.of(ServerResult) if not r.met and r.verdict != "skipped"]
    ids = {result.id for result in failing}
    groups = [
        CauseGroup(result, [r for r in failing if r.cause == result.id])
        for result in failing
        if result.cause not in ids
    ]
    return sorted(groups, key=lambda group: -len(group.under))


def cause_lines(groups: Sequence[CauseGroup]) -> Iterator[str]:
    """Yield the causes, each with the names of the results under it."""
    for group in groups[:MOST]:
        result = group.result
        yield f"cause    {result.name}: {result.verdict}: {result.evidence}"
        if group.under:
            names = ", ".join(member.name for member in group.under)
            yield f"         {len(group.under)} more rely on it: {names}"
    if rest := groups[MOST:]:
        names = ", ".join(group.result.name for group in rest)
        yield f"cause    and {len(rest)} more: {names}"
