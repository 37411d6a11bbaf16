"""Read facts.toml: what an engine calls its sampling parameters, release by release."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sampler_parity.harness.errors import InputError
from sampler_parity.reference.chronology import NEWEST, check_known, order
from sampler_parity.reference.errors import ChainError

Kind = Literal["number", "integer", "boolean", "texts", "samplers", "letters", "biases"]


@dataclass(frozen=True)
class Parameter:
    """A sampling parameter, by its name in a request. model: its key in general.sampling of a GGUF
    file. clamp: a server moves a value to the nearest of these bounds. least, most: it refuses a
    value beyond. in_request: whether a request may have it. aliases: of its name in a request."""

    name: str
    type: Kind
    default: Any = None
    flags: tuple[str, ...] = ()
    model: str = ""
    clamp: tuple[float, ...] = ()
    least: float | None = None
    most: float | None = None
    in_request: bool = True


@dataclass(frozen=True)
class Release:
    """The facts of one release of llama.cpp. stages: of each sampler's name. letters: the name by
    its letter. spellings: the name by every spelling of a start flag. behaviours: in force."""

    name: str
    parameters: dict[str, Parameter]
    default_order: tuple[str, ...]
    stages: dict[str, str]
    letters: dict[str, str]
    spellings: dict[str, str]
    flags: dict[str, str]
    behaviours: frozenset[str]


@cache
def facts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))


@cache
def release_facts(release: str = NEWEST) -> Release:
    """Return the facts of a release. Raises InputError for one between two that differ."""
    table = facts()["llama"]
    observed = _observed(release)
    samplers = {k: v for k, v in table["samplers"].items() if _holds(v, observed)}
    behaviours = frozenset(k for k, v in table["behaviours"].items() if _holds(v, observed))
    parameters = {
        name: _parameter(name, row, observed)
        for name, row in table["parameters"].items()
        if _holds(row, observed)
    }
    further = {k: v["name"] for k, v in table["flags"].items() if _holds(v, observed)}
    return Release(
        release,
        parameters,
        next(tuple(row["samplers"]) for row in table["orders"] if _holds(row, observed)),
        {name: row["stage"] for name, row in samplers.items()},
        {row["letter"]: name for name, row in samplers.items()},
        dict(_spellings(samplers, "any_spelling" in behaviours)),
        {flag: row.name for row in parameters.values() for flag in row.flags} | further,
        behaviours,
    )


def _observed(release: str) -> str:
    """Return the observed release that has the same facts. Raises InputError."""
    try:
        check_known(release)
    except ChainError as error:
        raise InputError(f"release {release}", str(error), "write b4753 or v0.5.0") from None
    names = facts()["llama"]["observed"]
    before = [name for name in names if order(name) <= order(release)]
    after = [name for name in names if order(name) > order(release)]
    if order(before[-1]) < order(release) and after and _differ(before[-1], after[0]):
        problem = f"the parameters changed after {before[-1]} and by {after[0]}"
        raise InputError(f"release {release}", problem, f"name {before[-1]} or {after[0]}")
    return str(before[-1])


def _differ(old: str, new: str) -> bool:
    """Return whether a fact ends with `old` or begins with `new`."""
    return any(
        row.get("until") == old or row.get("since") == new for row in _rows(facts()["llama"])
    )


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from _rows(item)


def _holds(row: dict[str, Any], release: str) -> bool:
    since, until = row.get("since", release), row.get("until", release)
    return order(since) <= order(release) <= order(until)


def _parameter(name: str, row: dict[str, Any], release: str) -> Parameter:
    earlier = row.get("earlier", {})
    default = earlier["default"] if earlier and _holds(earlier, release) else row.get("default")
    since = row.get("request_since", release)
    return Parameter(
        name,
        row["type"],
        default,
        tuple(row.get("flags", ())),
        row.get("model", ""),
        tuple(row.get("clamp", ())),
        row.get("least"),
        row.get("most"),
        not row.get("flag_only") and order(since) <= order(release),
    )


def _spellings(samplers: dict[str, Any], derived: bool) -> Iterator[tuple[str, str]]:
    """Yield every spelling of a sampler and its name. derived: with - for _ or without either."""
    for name, row in samplers.items():
        yield name, name
        if derived:
            yield from ((name.replace("_", mark), name) for mark in ("-", ""))
        else:
            yield from ((alias, name) for alias in row.get("aliases", ()))
    if derived:
        yield from (("nucleus", "top_p"), ("temp", "temperature"), ("typ", "typ_p"))
