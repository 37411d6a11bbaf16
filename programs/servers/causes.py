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
from sampler_parity.programs.servers.probe import SEEDS, Probe, Undetermined
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.streams import NAME as STREAMS
from sampler_parity.programs.servers.streams import stream_loss

MOST = 3  # causes on the screen
_OF_ONE = ("parameter", "probabilities")  # groups whose results are about single parameters
_OF_SEVERAL = ("parameters together", "texts of a grammar", "kinds at once", "32 at once")
_EVERYWHERE = ("temperature", "seed")
_TEXTS = ("prompt", "messages", "model", "stream")
_QUICKLY = ("greedy", "forces", "stops", "length", "spreads", "moves")  # a few requests each


@dataclass(frozen=True)
class Cause:
    """Why results fail. id: the result that is about it. name: the parameter. at_neutral: whether
    its neutral value fails, and not the others."""

    id: str
    name: str
    line: str
    at_neutral: bool = False


def first_look(client: Client) -> list[Cause]:
    """Return parameters without effect, the seed first. A server that fails has no cause yet."""
    probe, causes = Probe(client), list[Cause]()
    try:
        prepare(probe)
        hot = probe.hot()
        rows = [row for row in client.dialect.parameters if row.documented]
        if acting := [*_acting_at_neutral(probe, rows)]:
            return acting
        if any(row.name == "seed" for row in rows) and not (probe.seeds or hot.refusal):
            causes.append(Cause("parameter/seed", "seed", "a seed does not repeat"))
        if loss := stream_loss(probe):
            causes.append(Cause(f"state/{STREAMS}", STREAMS, loss.evidence.partition(":")[0]))
        for row in rows:
            of_another = any(cause.name in row.also for cause in causes)
            if row.effect in _QUICKLY and client.selects(row.name) and not of_another:
                causes += _without_effect(probe, row)
    except ServerFailure:
        pass  # the results name it
    return causes


def _acting_at_neutral(probe: Probe, rows: Sequence[ServerParameter]) -> Iterator[Cause]:
    """Yield a parameter whose neutral value makes one text of three hot ones, which differ where
    requests do not state it."""
    if len({hot.text for hot in probe.hots()}) > 1:
        return
    for row in rows:
        stated = row.name in probe.neutral and row.name not in _EVERYWHERE
        if stated and len({hot.text for hot in probe.hots(**{row.name: None})}) == len(SEEDS):
            line = f"{row.name} {json.dumps(row.neutral)} is not neutral: one text of all seeds"
            yield Cause(f"parameter/{row.name}", row.name, line, at_neutral=True)


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
    if sent.get("stream") and (ids := [cause.id for cause in causes if cause.name == STREAMS]):
        return result.model_copy(update={"cause": ids[0]})
    sent = sent.get(dialect.group, {}) if dialect.group else sent
    rows, exact = {row.name: row for row in dialect.parameters}, _compares_values(result, dialect)
    # Every request states its length.
    stated = [row.name for row in dialect.parameters if row.effect != "length"]
    of_parameters = [cause for cause in causes if cause.name in stated and "leaks" not in cause.id]
    for cause in sorted(of_parameters, key=lambda cause: cause.name == "seed"):
        if _relies(sent, cause, rows[cause.name], exact):
            return result.model_copy(update={"cause": cause.id})
    return result


def _drawn(sent: dict[str, Any]) -> bool:
    """Return whether the texts of a request are drawn with a seed."""
    return "seed" in sent and sent.get("temperature") != 0


def _compares_values(result: ServerResult, dialect: Dialect) -> bool:
    """Return whether a result compares values with the request's, where any default counts."""
    of_values = result.group in ("parameter", "exact", "law")
    return of_values or result.name in {"every answer: settings", *own_tests(dialect.name)}


def _relies(sent: dict[str, Any], cause: Cause, row: ServerParameter, exact: bool) -> bool:
    """Return whether a request states a value with effect. exact: or one that is not what a server
    without the parameter has."""
    value = sent.get(row.name)
    if cause.at_neutral:
        return bool(value == row.neutral)
    if cause.name == "seed":
        return _drawn(sent)
    return value not in (None, row.neutral) or (exact and value not in (None, row.default))


@dataclass(frozen=True)
class CauseGroup:
    """A failing result, and the results that are listed under it."""

    result: ServerResult
    under: list[ServerResult]


def by_cause(checked: Bundle, dialect: Dialect) -> list[CauseGroup]:
    """Return failing results with those under them: the largest groups first, and what names a
    parameter before what has several."""
    failing = [r for r in checked.of(ServerResult) if not r.met and r.verdict != "skipped"]
    relied_on = {r.id: r.cause or _simplest(r, failing, dialect) for r in failing}
    groups = [
        CauseGroup(result, [r for r in failing if _root(r.id, relied_on) == result.id])
        for result in failing
        if relied_on[result.id] not in relied_on
    ]
    return sorted(groups, key=lambda group: (-len(group.under), *_vagueness(group.result)))


def _vagueness(result: ServerResult) -> tuple[bool, bool]:
    return result.group != "parameter", result.name in _OF_SEVERAL


def _root(id: str, relied_on: dict[str, str]) -> str:
    """Return the id of the cause of a result's cause; "" for one without a cause."""
    cause, passed = relied_on[id], {id}
    while relied_on.get(cause) in relied_on and cause not in passed:
        passed.add(cause)
        cause = relied_on[cause]
    return cause


def _simplest(result: ServerResult, failing: Sequence[ServerResult], dialect: Dialect) -> str:
    """Return the id of the failing result of a parameter that this request states; "" if there is
    none, or the parameter's own request states this result's. That with the fewest parameters."""
    sent = _acting(result, dialect)
    simpler = [
        (len(of_cause), cause.id)
        for cause in failing
        if cause.group in _OF_ONE and cause.id != result.id and not cause.cause
        for of_cause in [_acting(cause, dialect)]
        if _states(sent, of_cause, cause)
        and not _is_first(result, cause, of_cause, sent)
        and (result.group == "parameter" or _is_simpler(cause, of_cause, result, sent))
    ]
    return min(simpler, default=(0, ""))[1]


def _is_simpler(
    cause: ServerResult, of_cause: dict[str, Any], result: ServerResult, sent: dict[str, Any]
) -> bool:
    """Return whether a parameter's result comes first, or of two of probabilities the smaller."""
    both = cause.group == result.group
    return not both or (len(of_cause), cause.id) < (len(sent), result.id)


def _is_first(
    result: ServerResult, cause: ServerResult, of_cause: dict[str, Any], sent: dict[str, Any]
) -> bool:
    """Return whether a parameter's result does not rely on another one, though its request states
    that parameter."""
    both = _states(of_cause, sent, result) or cause.name in _EVERYWHERE
    return result.group == "parameter" and both


def _states(sent: dict[str, Any], of_cause: dict[str, Any], cause: ServerResult) -> bool:
    """Return whether a request states what a result is about. Nearly all requests have a
    temperature and a seed: there the value counts."""
    names = [cause.name] if cause.group == "parameter" else of_cause.keys() - {*_EVERYWHERE}
    return any(
        name in sent and (name not in _EVERYWHERE or sent[name] == of_cause.get(name))
        for name in names
    )


def _acting(result: ServerResult, dialect: Dialect) -> dict[str, Any]:
    """Return what a request states beyond the neutral values."""
    sent = json.loads(result.sent or "{}")
    sent = {**sent, **sent.pop(dialect.group, {})} if dialect.group else sent
    silent = {dialect.length, *_TEXTS, *dialect.always}
    neutral = dialect.neutral
    return {k: v for k, v in sent.items() if k not in silent and v != neutral.get(k)}


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
