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


@dataclass(frozen=True)
class _Failing:
    """A failing result. acting: what its request states beyond the neutral values."""

    result: ServerResult
    acting: dict[str, Any]

    @property
    def subjects(self) -> set[str]:
        """Return the names that the result is about."""
        is_parameter = self.result.group == "parameter"
        return {self.result.name} if is_parameter else self.acting.keys() - {*_EVERYWHERE}

    def states(self, cause: "_Failing") -> bool:
        """Return whether the request states what another result is about. Nearly all requests have
        a temperature and a seed: there the value counts."""
        return any(
            name not in _EVERYWHERE or self.acting[name] == cause.acting.get(name)
            for name in cause.subjects & self.acting.keys()
        )

    def relies_on(self, cause: "_Failing") -> bool:
        """Return whether the request states the parameter of a failing result. Two parameters that
        state each other rely on neither."""
        if cause is self or cause.result.group not in _OF_ONE or cause.result.cause:
            return False
        both = cause.states(self) or cause.result.name in _EVERYWHERE
        return self.states(cause) and not (self.result.group == "parameter" and both)


def by_cause(checked: Bundle, dialect: Dialect) -> list[CauseGroup]:
    """Return failing results with those under them, each under the simplest one that it relies on:
    the largest groups first, and what names a parameter before what has several."""
    results = [r for r in checked.of(ServerResult) if not r.met and r.verdict != "skipped"]
    failing = [_Failing(result, _acting(result, dialect)) for result in results]
    causes = {one.result.id: one.result.cause or _simplest(one, failing) for one in failing}
    roots = {id: _root(id, causes) for id in causes}
    groups = [
        CauseGroup(head, [r for r in results if r is not head and roots[r.id] == head.id])
        for head in results
        if roots[head.id] == head.id
    ]
    return sorted(groups, key=lambda group: (-len(group.under), *_vagueness(group.result)))


def _vagueness(result: ServerResult) -> tuple[bool, bool]:
    return result.group != "parameter", result.name in _OF_SEVERAL


def _simplest(result: _Failing, failing: Sequence[_Failing]) -> str:
    """Return the id of the result with the fewest parameters that another relies on, or ""."""
    causes = [(len(one.acting), one.result.id) for one in failing if result.relies_on(one)]
    return min(causes, default=(0, ""))[1]


def _root(id: str, causes: dict[str, str]) -> str:
    """Return the id that a chain of causes ends with; of some that rely on each other the first."""
    passed = [id]
    while (cause := causes[passed[-1]]) in causes:
        if cause in passed:
            return min(passed[passed.index(cause) :], key=[*causes].index)
        passed.append(cause)
    return passed[-1]


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
