"""Read facts.toml: what an engine calls its sampling parameters, and the chains that it builds."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sampler_parity.harness.errors import InputError
from sampler_parity.reference.chronology import NEWEST, check_known, order
from sampler_parity.reference.errors import ChainError

LLAMA = "llama-server"
Kind = Literal["number", "integer", "boolean", "texts", "samplers", "letters", "biases"]


@dataclass(frozen=True)
class Parameter:
    """A sampling parameter by its name in a request. setting: llama-server's name for it, if it is
    another. model: its key in general.sampling of a GGUF file. clamp: a server moves a value to the
    nearest of these bounds. least, most: it refuses a value beyond. since, until: releases that
    have it; request_since: in requests. earlier: another default, until a release."""

    name: str
    type: Kind
    default: Any = None
    setting: str = ""
    flags: Sequence[str] = ()
    model: str = ""
    clamp: Sequence[float] = ()
    least: float | None = None
    most: float | None = None
    flag_only: bool = False
    since: str = ""
    until: str = ""
    request_since: str = ""
    earlier: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Release:
    """The facts of an engine, of llama.cpp of one release. stages: of each sampler's name. letters:
    the name by its letter. spellings: the name by every spelling of a start flag. behaviours: in
    force. chains: of an engine with fixed ones, each with the setting that selects it."""

    engine: str
    name: str
    parameters: dict[str, Parameter]
    stages: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    behaviours: frozenset[str] = frozenset()
    chains: Sequence[Mapping[str, Any]] = ()

    def default(self, setting: str) -> Any:
        """Return the default of a setting by llama-server's name; None without one."""
        rows = (row for row in self.parameters.values() if setting in (row.setting, row.name))
        return next((row.default for row in rows), None)


@cache
def facts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))


@cache
def engine_facts(engine: str, release: str = NEWEST) -> Release:
    """Return the facts of an engine, and of llama.cpp those of a release. Raises InputError."""
    if engine == LLAMA:
        return replace(_at(_observed(release)), name=release)
    table = facts()["engines"][engine]
    parameters = {name: Parameter(name, **row) for name, row in table["parameters"].items()}
    return Release(engine, table["version"], parameters, chains=table["chains"])


@cache
def _at(release: str) -> Release:
    table = facts()["llama"]
    samplers = _holding(table["samplers"], release)
    parameters = {
        name: _parameter(name, row, release)
        for name, row in _holding(table["parameters"], release).items()
    }
    flags = {flag: row.name for row in parameters.values() for flag in row.flags}
    order_of_release = next(row["samplers"] for row in table["orders"] if _holds(row, release))
    parameters["samplers"] = replace(parameters["samplers"], default=order_of_release)
    derived = "any_spelling" in _holding(table["behaviours"], release)
    return Release(
        LLAMA,
        "",
        parameters,
        {name: row["stage"] for name, row in samplers.items()},
        {row["letter"]: name for name, row in samplers.items()},
        dict(_spellings(samplers, derived)),
        flags | {k: v["name"] for k, v in _holding(table["flags"], release).items()},
        frozenset(_holding(table["behaviours"], release)),
    )


def _observed(release: str) -> str:
    """Return the observed release with the same facts. Raises InputError if two may have them."""
    try:
        check_known(release)
    except ChainError as error:
        raise InputError(f"release {release}", str(error), "write b4753 or v0.5.0") from None
    names: list[str] = facts()["llama"]["observed"]
    before = [name for name in names if order(name) <= order(release)][-1]
    after = next((name for name in names if order(name) >= order(release)), before)
    if _at(before) != _at(after):
        problem = f"the parameters changed after {before} and by {after}"
        raise InputError(f"release {release}", problem, f"name {before} or {after}")
    return before


def _holding(rows: Mapping[str, Any], release: str) -> dict[str, Any]:
    return {name: row for name, row in rows.items() if _holds(row, release)}


def _holds(row: Mapping[str, Any], release: str) -> bool:
    since, until = row.get("since", release), row.get("until", release)
    return order(since) <= order(release) <= order(until)


def _parameter(name: str, row: dict[str, Any], release: str) -> Parameter:
    """Return a parameter with what a release has of it."""
    parameter = Parameter(name, **row)
    if parameter.earlier and _holds(parameter.earlier, release):
        parameter = replace(parameter, default=parameter.earlier["default"])
    if parameter.request_since and order(release) < order(parameter.request_since):
        parameter = replace(parameter, flag_only=True)
    return parameter


def _spellings(samplers: dict[str, Any], derived: bool) -> Iterator[tuple[str, str]]:
    """Yield every spelling of a sampler and its name. derived: with - for _ or without either."""
    for name, row in samplers.items():
        marks = (
            [name.replace("_", mark) for mark in ("-", "")] if derived else row.get("aliases", [])
        )
        yield from ((spelling, name) for spelling in (name, *marks))
    if derived:
        yield from (("nucleus", "top_p"), ("temp", "temperature"), ("typ", "typ_p"))
