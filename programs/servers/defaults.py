"""Find the defaults that a server must have, and fit its dialect to them.

A flag of the program goes before the model's metadata, and that before the program's own default
(documented.toml). Flags and the file of the model come from the user. Without them the server's
report, /props of llama-server, is what its answers must agree with.
"""

import json
import math
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.errors import InputError
from sampler_parity.programs.servers import http
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS, SEVERAL, Dialect, ServerParameter
from sampler_parity.programs.servers.fingerprint.self_report import first_model, json_at
from sampler_parity.programs.servers.observation import Observation, result_of
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.settings.facts import LLAMA, engine_facts
from sampler_parity.reference.pipelines.common_chain import (
    samplers_from_chars,
    samplers_from_names,
)

RANDOM = (-1, 2**32 - 1)  # seeds that stand for another one each time
_OWNERS = {"me": "llama-cpp-python"}  # llama_cpp/server/app.py
PROGRAM = "the program's default"
_READ = ("number", "integer", "boolean", "samplers")  # types of flags that are read here


@dataclass(frozen=True)
class Default:
    """A default, and what set it: for a line of evidence."""

    value: Any
    origin: str


@dataclass(frozen=True)
class ServerDefaults:
    """A server's defaults, as far as known. family: whose program it is, or "". declared: by flags
    and metadata, None without both. reported: by the server itself. slots: texts at once, 0
    if unknown. eos: the token that ends a text."""

    family: str = ""
    declared: dict[str, Default] | None = None
    reported: dict[str, Any] = field(default_factory=dict)
    slots: int = 0
    eos: int | None = None

    def of(self, row: ServerParameter) -> Default | None:
        """Return the default that a parameter must have; None: that of its dialect."""
        if self.declared is not None:
            return self.declared.get(row.name) or _of_program(self.family, row)
        if row.name in self.reported:
            return Default(_shortest(self.reported[row.name]), "the default of /props")
        program = _row(self.family, row.name)
        if program is None or program.default is None or program.default == row.default:
            return None
        return Default(program.default, PROGRAM)


def defaults_of(
    address: Address,
    dialect: Dialect,
    seconds: float,
    flags: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> ServerDefaults:
    """Ask a server for its defaults, and add those that its flags and its model's metadata set.
    Raises InputError for flags that cannot be read."""
    props = json_at(address, "/props", seconds)
    settings = props.get("default_generation_settings")
    reported = settings.get("params", settings) if isinstance(settings, dict) else {}
    family = "llama-server" if reported else dialect.family or _owner(address, seconds)
    declared = None
    if flags or metadata is not None:
        declared = of_metadata(family, metadata or {}) | of_flags(family, flags)
    slots = props.get("total_slots")
    return ServerDefaults(
        family,
        declared,
        dict(reported) if isinstance(reported, dict) else {},
        slots if type(slots) is int else 0,
        _eos(address, props, seconds) if reported else _first_eos(metadata or {}),
    )


@cache
def documented() -> dict[str, dict[str, dict[str, Any]]]:
    """Return by program and parameter its flags, and its key of metadata: documented.toml, and the
    facts of llama-server."""
    table = tomllib.loads(Path(__file__).with_name("documented.toml").read_text(encoding="utf-8"))
    release, rows = engine_facts(LLAMA), table[LLAMA]
    for flag, name in release.flags.items():
        if release.parameters[name].type in _READ:
            rows.setdefault(name, {"flags": []})["flags"].append(flag)
    for row in release.parameters.values():
        if row.model:
            rows[row.name]["metadata"] = f"general.sampling.{row.model}"
    return table


def of_metadata(family: str, metadata: Mapping[str, Any]) -> dict[str, Default]:
    """Return the defaults that a program takes from a model's metadata."""
    if family == "transformers" and not metadata.get("do_sample"):
        return {"temperature": Default(0.0, "the model's do_sample")}
    rows = documented().get(family, {}).items()
    keys = {name: str(row["metadata"]) for name, row in rows if "metadata" in row}
    return {
        name: Default(_typed(family, name, metadata[key]), f"the model's {key}")
        for name, key in keys.items()
        if metadata.get(key) is not None
    }


def of_flags(family: str, flags: str) -> dict[str, Default]:
    """Return the defaults that the flags of a program set; other flags are left out. Raises
    InputError for a value that is none."""
    names = {
        flag: name
        for name, row in documented().get(family, {}).items()
        for flag in row.get("flags", ())
    }
    defaults = {}
    for flag, value in _pairs(flags):
        if flag in names:
            name = names[flag]
            defaults[name] = Default(_of_text(family, name, flag, value), f"the flag {flag}")
        elif flag in ("--sampling-seq", "--sampler-seq") and family == "llama-server":
            defaults["samplers"] = Default([*samplers_from_chars(value)], f"the flag {flag}")
        elif flag == "--override-generation-config" and family == "vllm":
            defaults |= _overridden(flag, value)
    return defaults


def _overridden(flag: str, value: str) -> dict[str, Default]:
    try:
        several = of_metadata("vllm", json.loads(value))
    except (ValueError, AttributeError):
        raise InputError("--flags", f"{flag} is no JSON: {value!r}", "quote it") from None
    return {name: replace(default, origin=f"the flag {flag}") for name, default in several.items()}


def _pairs(flags: str) -> Iterator[tuple[str, str]]:
    """Yield each flag with the word behind it, or behind its equals sign."""
    try:
        words = shlex.split(flags)
    except ValueError as error:
        raise InputError("--flags", str(error).lower(), "close the quotation") from None
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        flag, equals, value = word.partition("=")
        if flag.startswith("-"):
            yield flag, value if equals else following


def _of_text(family: str, name: str, flag: str, text: str) -> Any:
    if name == "ignore_eos":
        return True
    try:
        value = _typed(family, name, text)
    except ValueError:
        fix = "pass the flags as the server was started with them"
        raise InputError("--flags", f"{flag} needs a number, not {text!r}", fix) from None
    return max(value, 0.0) if name == "temperature" else value


def _typed(family: str, name: str, value: Any) -> Any:
    """Return a value as the program reads it. Raises ValueError."""
    row = _row(family, name)
    if name == "samplers":
        return [*samplers_from_names(str(value).split(";"))]
    if row is not None and type(row.default) is int:
        return int(float(value))
    return float(value)


def _row(family: str, name: str) -> ServerParameter | None:
    rows = DIALECTS[family].parameters if family in DIALECTS else ()
    return next((row for row in rows if row.name == name), None)


def _of_program(family: str, row: ServerParameter) -> Default | None:
    program = _row(family, row.name) or row
    return None if program.default is None else Default(program.default, PROGRAM)


def _shortest(value: Any) -> Any:
    """Return the shortest number with the same float32: /props writes 0.949999988079071."""
    return float(str(np.float32(value))) if isinstance(value, float) else value


def equal(first: Any, second: Any) -> bool:
    """Compare two values of a parameter as a server reads them: in float32, a seed in 32 bits."""
    if not (type(first) in (int, float) and type(second) in (int, float)):
        return bool(first == second)
    if first in RANDOM and second in RANDOM:
        return True
    return math.isclose(first, second, rel_tol=1e-6)


def fit(dialect: Dialect, defaults: ServerDefaults) -> Dialect:
    """Return the dialect with the server's defaults. Requests then state all that differs from the
    program's defaults, so that it cannot interfere."""
    fitted = replace(dialect, family=defaults.family)
    if defaults.slots:
        fitted = replace(fitted, slots=defaults.slots)
    if defaults.slots == 1:
        fitted = replace(fitted, several={}, unavailable={SEVERAL: "the server has one slot"})
    for row in dialect.parameters:
        default = defaults.of(row)
        if default is not None:
            fitted = _with_default(fitted, row, default)
    return _with_always(fitted, defaults)


def _with_default(dialect: Dialect, row: ServerParameter, default: Default) -> Dialect:
    if row.effect == "seed":
        dialect = replace(dialect, random=dialect.random and default.value in RANDOM)
    program = _row(dialect.family, row.name) or row
    changed = replace(row, default=default.value, origin=default.origin, prompt=program.prompt)
    if row.effect not in ("seed", "length", "shape") and not equal(default.value, program.default):
        if row.alone:
            dialect = replace(dialect, stated={**dialect.stated, row.name: program.default})
        elif row.neutral is None:
            changed = replace(changed, neutral=program.default)
    rows = tuple(changed if item is row else item for item in dialect.parameters)
    return replace(dialect, parameters=rows)


def _with_always(dialect: Dialect, defaults: ServerDefaults) -> Dialect:
    """State what the program takes besides the dialect, where its default is another."""
    if defaults.family not in DIALECTS:
        return dialect
    names = {row.name for row in dialect.parameters if row.documented}
    # Logits after a cached prompt have other last bits.
    cache = {k: v for k, v in DIALECTS[defaults.family].always.items() if k == "cache_prompt"}
    always = {**cache, **dialect.always}
    for row in DIALECTS[defaults.family].parameters:
        default = defaults.of(row)
        if row.name in names or default is None or row.effect in ("seed", "length", "shape"):
            continue
        if not equal(default.value, row.default):
            always[row.name] = row.default if row.neutral is None or row.alone else row.neutral
    return replace(dialect, always=always)


def stating(client: Client) -> Client:
    """Return a client whose requests state the program's default wherever the server's is another,
    for tokens that are predicted with the program's."""
    dialect = client.dialect
    always = {
        row.name: program.default
        for row in dialect.parameters
        if (program := _row(dialect.family, row.name)) is not None
        and program.default is not None
        and row.effect not in ("seed", "length", "shape")
        and not equal(row.default, program.default)
    }
    return replace(client, dialect=replace(dialect, always={**dialect.always, **always}))


def check_defaults(client: Client, defaults: ServerDefaults) -> Iterator[ServerResult]:
    """Compare the defaults that a server reports with those that its flags and its model set."""
    yield result_of(client, "parameter", "defaults", _as_reported(client, defaults))


def _as_reported(client: Client, defaults: ServerDefaults) -> Observation:
    if not defaults.reported:
        origin = "that flags and metadata set" if defaults.declared else "of the dialect"
        line = f"the server reports none: those {origin} are required; --flags and --model-file"
        return Observation("skipped", f"{line} set others")
    rows = {row.name: row for row in client.dialect.parameters if row.effect != "length"}
    pairs = {name: defaults.of(row) for name, row in rows.items() if name in defaults.reported}
    for name, default in pairs.items():
        reported = defaults.reported[name]
        if default is not None and not equal(default.value, reported):
            line = f"{name}: {default.origin} is {default.value}, /props has {reported}"
            return Observation("other meaning", line)
    changed = [
        f"{name} {default.value}"
        for name, default in pairs.items()
        if default is not None and not equal(default.value, _program_value(defaults, rows[name]))
    ]
    return Observation("honoured", f"{len(pairs)} of /props; {', '.join(changed) or 'no others'}")


def _program_value(defaults: ServerDefaults, row: ServerParameter) -> Any:
    default = _of_program(defaults.family, row)
    return row.default if default is None else default.value


def _owner(address: Address, seconds: float) -> str:
    """Return the program that /v1/models names as the owner, if documented.toml has it."""
    owner = first_model(json_at(address, "/v1/models", seconds))["owned_by"]
    owner = _OWNERS.get(owner, owner)
    return owner if owner in documented() or owner in DIALECTS else ""


def _eos(address: Address, props: Mapping[str, Any], seconds: float) -> int | None:
    """Return the token that ends a text: llama-server names its text, and splits texts."""
    text = props.get("eos_token")
    if not isinstance(text, str) or not text:
        return None
    try:
        body = {"content": text, "parse_special": True, "add_special": False}
        data = http.ask(address, "/tokenize", body, seconds).data
    except http.ServerFailure:
        return None
    tokens = data.get("tokens") if isinstance(data, dict) else None
    return tokens[0] if isinstance(tokens, list) and len(tokens) == 1 else None


def _first_eos(metadata: Mapping[str, Any]) -> int | None:
    value = metadata.get("tokenizer.ggml.eos_token_id", metadata.get("eos_token_id"))
    value = value[0] if isinstance(value, list) and value else value
    return value if type(value) is int else None
