"""Read a file of settings, whatever program it is for."""

import math
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file, read_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of, shallow
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings import presets
from sampler_parity.programs.settings.facts import LLAMA, Release, engine_facts, facts

Layer = Literal["model", "flag", "server", "request"]  # a later one overrides an earlier one
STDIN = Path("-")
WEB_UI = "text-generation-webui"
_FIX = "give a request, start flags, the answer of /props or a GGUF file"
_FLAG = re.compile(r"--?[A-Za-z]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BIAS = re.compile(r"(\d{1,9})([+-])(.+)")


@dataclass(frozen=True)
class Source:
    """A file of settings. title: what it is. engine: whose names the values have. unknown: names
    that look like misspelled ones, with a suggestion."""

    path: Path
    title: str
    layer: Layer
    values: dict[str, Any]
    engine: str = LLAMA
    unknown: dict[str, str] = field(default_factory=dict)


def read_source(path: Path, release: str) -> Source:
    """Return the settings of a file, or of standard input for `-`. Raises InputError."""
    if path == STDIN:
        content = sys.stdin.buffer.read(limits.TOML + 1)
        if len(content) > limits.TOML:
            raise InputError(path, f"has more than {limits.TOML // limits.MIB} MiB", _FIX)
    elif _begins(path) == b"GGUF":
        return _of_model(path, engine_facts(LLAMA, release))
    else:
        content = read_file(path, limits.TOML)
    try:
        if content.lstrip()[:1] in (b"{", b"["):
            return _of_json(path, shallow(json_of(content)))
        return _of_text(path, content.decode(), engine_facts(LLAMA, release))
    except ValueError as error:
        raise InputError(path, f"not readable: {error}", "correct the syntax there") from None


def _begins(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(4)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}", _FIX) from None


def _of_json(path: Path, data: Any) -> Source:
    if not isinstance(data, dict):
        raise InputError(path, "a list holds no settings", _FIX)
    if isinstance(defaults := data.get("default_generation_settings"), dict):
        return _of_props(path, defaults.get("params", defaults))
    if {"temp", "rep_pen"} <= data.keys():
        request = presets.sillytavern_request(data)
        return Source(path, "a preset of SillyTavern", "request", request)
    for engine, row in facts()["engines"].items():
        nested = engine == "ollama" and isinstance(data.get("options"), dict)
        values = data["options"] if nested else data
        values = presets.webui_values(values) if engine == WEB_UI else values
        values = _flat(values) if row.get("nested") else values
        excluded = data.keys() & {*row.get("excludes", ())}
        if (nested or data.keys() & {*row["signs"]}) and not excluded:
            return Source(path, row["title"], "request", values, engine)
    table = facts()["llama"]
    fields = [name for names in table["request"].values() for name in names]
    if data and not data.keys() & {*table["parameters"], *fields, *facts()["of_other_programs"]}:
        first = next(iter(data))
        fix = did_you_mean(first, table["parameters"]) or _FIX
        raise InputError(path, f"{first[:60]}: no setting of llama-server", fix)
    return Source(path, "a request of llama-server", "request", data)


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    """Return a table with `a.b` for the values of a table in it."""
    tables = {name: value for name, value in data.items() if isinstance(value, dict)}
    inner = {f"{name}.{key}": value for name in tables for key, value in tables[name].items()}
    return {name: value for name, value in data.items() if name not in tables} | inner


def _of_props(path: Path, values: Any) -> Source:
    """Return the defaults of a server that it reports at /props."""
    if not isinstance(values, dict):
        raise InputError(path, "default_generation_settings.params: not a table", _FIX)
    names = facts()["llama"]["parameters"].keys() - {"ignore_eos"}  # its bans are in logit_bias
    values = {name: value for name, value in values.items() if name in names}
    if isinstance(biases := values.get("logit_bias"), list):
        pairs = (bias if isinstance(bias, dict) else {} for bias in biases)
        values["logit_bias"] = [[pair.get("token"), pair.get("bias")] for pair in pairs]
    return Source(path, "the defaults of a server", "server", values)


def _of_model(path: Path, release: Release) -> Source:
    """Return general.sampling of a GGUF file, as a release reads it."""
    from sampler_parity.harness.inputs.gguf import BoundedReader

    counts = "model_defaults" in release.behaviours
    rows = [row for row in release.parameters.values() if row.model and counts]
    try:
        reader = BoundedReader(path)
        fields = {row.name: reader.get_field(f"general.sampling.{row.model}") for row in rows}
        values = {name: field.contents() for name, field in fields.items() if field is not None}
    except (ValueError, OSError, LookupError, TypeError, OverflowError) as error:
        raise InputError(path, f"not a readable GGUF file: {error}", _FIX) from None
    if isinstance(order := values.get("samplers"), str):
        values["samplers"] = order.split(";")
    title = "defaults of a model" if counts else "a model, whose defaults this release passes over"
    return Source(path, title, "model", values)


def _of_text(path: Path, text: str, release: Release) -> Source:
    """Return the settings of a Modelfile, or of start flags: the words of a command line."""
    if presets.MODELFILE.search(text):
        options = presets.modelfile_options(path, text)
        return Source(path, "a Modelfile", "request", options, "ollama")
    if presets.YAML.match(text):
        values = presets.webui_values(presets.yaml_values(text))
        return Source(path, facts()["engines"][WEB_UI]["title"], "request", values, WEB_UI)
    words = shlex.split(text, comments=True)
    if not any(_FLAG.match(word) for word in words):
        raise InputError(path, "holds no settings", _FIX)
    source = Source(path, "start flags", "flag", {})
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        if flag in release.flags:
            _add_flag(source, flag, "" if _FLAG.match(value) else value, release)
        elif _FLAG.match(flag) and (suggestion := did_you_mean(flag, release.flags)):
            text = f"no sampling flag of llama.cpp {release.name}; {suggestion}"
            source.unknown[flag] = text
    return source


def _add_flag(source: Source, flag: str, text: str, release: Release) -> None:
    """Add the value of a flag. Raises InputError for one that is no number or bias."""
    name, values = release.flags[flag], source.values
    kind = release.parameters[name].type
    if kind == "boolean":
        values[name] = True
    elif kind == "texts":
        item = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        values[name] = [] if text == "none" else [*values.get(name, []), item]
    elif kind == "biases":
        match = _BIAS.fullmatch(text)
        if match is None:
            raise InputError(source.path, f"{flag} {text[:60]}: no bias", f"write {flag} 15043+1")
        size = math.inf if match[3] == "inf" else _number(source.path, flag, match[3])
        bias = [int(match[1]), size if match[2] == "+" else -size]
        values[name] = [*values.get(name, []), bias]
    elif kind in ("samplers", "letters"):  # the last one of both counts
        values.pop("samplers", values.pop("sampler_seq", None))
        values[name] = text.split(";") if kind == "samplers" else text
    else:
        values[name] = _number(source.path, flag, text)


def _number(path: Path, flag: str, text: str) -> float:
    match = _NUMBER.match(text)
    number = float(match[0]) if match else math.nan
    if not math.isfinite(number):
        raise InputError(path, f"{flag} {text[:60]}: not a number", f"write {flag} NUMBER")
    return number
