"""Read facts.toml: what an engine calls its sampling parameters, and the chains that it builds."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.reference.chronology import NEWEST, check_known, order
from sampler_parity.reference.errors import ChainError

LLAMA = "llama-server"


@dataclass(frozen=True)
class Parameter:
    """A sampling parameter by its name in a request. type: a key of [types]. setting: its name in
    llama-server. model: its key in general.sampling of a GGUF file. clamp: a server moves a value
    into these bounds. least, most: it refuses a value beyond. fixed: no user sets it. derived: of
    other settings, when a file is read."""

    name: str
    type: str
    default: Any = None
    setting: str = ""
    flags: Sequence[str] = ()
    model: str = ""
    clamp: Sequence[float] = ()
    least: float | None = None
    most: float | None = None
    fixed: bool = False
    derived: bool = False


@dataclass(frozen=True)
class Release:
    """The facts of an engine, of llama.cpp of one release. stages: of each sampler's name. letters:
    the name by its letter. spellings: the name by every spelling of a start flag. behaviours: in
    force. chains: of an engine with fixed ones, each with the setting that selects it. order:
    stages by the numbers or names of an order. fields: names without effect on a chain."""

    engine: str
    name: str
    parameters: Mapping[str, Parameter]
    fields: Sequence[str]
    stages: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    behaviours: frozenset[str] = frozenset()
    chains: Sequence[Mapping[str, Any]] = ()
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def default(self, setting: str) -> Any:
        """Return the default of a setting by llama-server's name; None without one."""
        return self.parameters[name].default if (name := self.own_name(setting)) else None

    def own_name(self, setting: str) -> str:
        """Return the engine's name of a setting by llama-server's; "" without one."""
        rows = self.parameters.values()
        return next((row.name for row in rows if setting == (row.setting or row.name)), "")


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
    rest = {key: table[key] for key in ("chains", "order") if key in table}
    return Release(engine, table["version"], parameters, table["fields"], **rest)


@cache
def _at(release: str) -> Release:
    table = facts()["llama"]
    rows, samplers, flags, behaviours = (
        {name: row for name, row in table[key].items() if _holds(row, release)}
        for key in ("parameters", "samplers", "flags", "behaviours")
    )
    known = Parameter.__dataclass_fields__.keys()
    parameters = {
        name: Parameter(name, **{key: row[key] for key in row if key in known})
        for name, row in rows.items()
    }
    names = next(row["samplers"] for row in table["orders"] if _holds(row, release))
    parameters["samplers"] = replace(parameters["samplers"], default=names)
    if "context_is_minus_one" in behaviours and "dry_penalty_last_n" in parameters:
        counted = replace(parameters["dry_penalty_last_n"], default=-1)
        parameters["dry_penalty_last_n"] = counted
    chains = [row for row in table["chains"] if row.get("if", "") in {"", *behaviours}]
    return Release(
        LLAMA,
        "",
        parameters,
        table["request"]["fields"],
        {name: row["stage"] for name, row in samplers.items()},
        {row["letter"]: name for name, row in samplers.items()},
        dict(_spellings(samplers, "any_spelling" in behaviours)),
        {flag: row.name for row in parameters.values() for flag in row.flags}
        | {flag: row["name"] for flag, row in flags.items()},
        frozenset(behaviours),
        chains,
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


def _holds(row: Mapping[str, Any], release: str) -> bool:
    since, until = row.get("since", release), row.get("until", release)
    return order(since) <= order(release) <= order(until)


def _spellings(samplers: dict[str, Any], derived: bool) -> Iterator[tuple[str, str]]:
    """Yield every spelling of a sampler and its name. derived: with - for _ or without either."""
    for name, row in samplers.items():
        marks = [name.replace("_", mark) for mark in ("-", "")]
        yield from (
            (text, name) for text in (name, *(marks if derived else row.get("aliases", ())))
        )
    if derived:
        yield from (("nucleus", "top_p"), ("temp", "temperature"), ("typ", "typ_p"))
