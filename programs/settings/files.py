"""Read a file of settings, whatever program it is for."""

import math
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import open_file, read_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of, shallow
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings.facts import LLAMA, engine_facts, facts
from sampler_parity.programs.settings.source import Source

STDIN = Path("-")
_FIX = "give a request, start flags, the answer of /props or a GGUF file"
_FLAG = re.compile(r"--?[A-Za-z]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BIAS = re.compile(r"(\d{1,9})([+-])(.+)")


def read_source(path: Path, release: str) -> Source:
    """Return the settings of a file, or of standard input for `-`. Raises InputError."""
    if path != STDIN and _begins(path) == b"GGUF":
        return _of_model(path, release)
    content = (
        sys.stdin.buffer.read(limits.TOML + 1) if path == STDIN else read_file(path, limits.TOML)
    )
    if len(content) > limits.TOML:
        raise InputError(path, f"has more than {limits.TOML // limits.MIB} MiB", _FIX)
    if content.lstrip()[:1] in (b"{", b"["):
        return source_of_json(path, _json(path, content))
    return _of_text(path, content, release)


def _begins(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(4)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}", _FIX) from None


def _json(path: Path, content: bytes) -> Any:
    try:
        return shallow(json_of(content))
    except (ValueError, UnicodeError) as error:
        raise InputError(path, f"not JSON: {error}", "correct the syntax there") from None


def source_of_json(path: Path, data: Any) -> Source:
    """Return the settings of JSON. Raises InputError if it has none."""
    if not isinstance(data, dict):
        raise InputError(path, "a list holds no settings", _FIX)
    if isinstance(defaults := data.get("default_generation_settings"), dict):
        return _of_props(path, defaults)
    table = facts()["llama"]
    names = {*table["parameters"], *_all_fields()}
    if data and not data.keys() & (names | facts()["foreign"].keys()):
        first = next(iter(data))
        fix = did_you_mean(first, table["parameters"]) or _FIX
        raise InputError(path, f"{first[:60]}: no setting of llama-server", fix)
    return Source(str(path), "a request of llama-server", "request", LLAMA, data)


def _all_fields() -> set[str]:
    return {name for names in facts()["llama"]["request"].values() for name in names}


def _of_props(path: Path, defaults: dict[str, Any]) -> Source:
    """Return the defaults of a server that it reports at /props."""
    values = defaults.get("params", defaults)
    if not isinstance(values, dict):
        raise InputError(path, "default_generation_settings.params: not a table", _FIX)
    names = facts()["llama"]["parameters"]
    taken = {k: v for k, v in values.items() if k in names and k != "ignore_eos"}
    if isinstance(biases := taken.get("logit_bias"), list):
        taken["logit_bias"] = [
            [bias.get("token"), bias.get("bias")] if isinstance(bias, dict) else bias
            for bias in biases
        ]
    return Source(str(path), "the defaults of a server", "server", LLAMA, taken)


def _of_model(path: Path, release: str) -> Source:
    """Return general.sampling of a GGUF file, as a release reads it."""
    from sampler_parity.harness.inputs.gguf import BoundedReader

    try:
        reader = BoundedReader(path)
        rows = engine_facts(LLAMA, release).parameters.values()
        keys = {row.name: f"general.sampling.{row.model}" for row in rows if row.model}
        fields = {name: reader.get_field(key) for name, key in keys.items()}
        values = {name: field.contents() for name, field in fields.items() if field is not None}
    except (ValueError, OSError, LookupError, TypeError, OverflowError) as error:
        raise InputError(path, f"not a readable GGUF file: {error}", _FIX) from None
    if isinstance(order := values.get("samplers"), str):
        values["samplers"] = order.split(";")
    counts = "model_defaults" in engine_facts(LLAMA, release).behaviours
    title = (
        "defaults of a model" if counts else "defaults of a model, which this release passes over"
    )
    return Source(str(path), title, "model", LLAMA, values if counts else {})


def _of_text(path: Path, content: bytes, release: str) -> Source:
    """Return the settings of start flags: the words of a command line."""
    try:
        words = shlex.split(content.decode(), comments=True)
    except ValueError as error:
        raise InputError(path, f"neither JSON nor start flags: {error}", _FIX) from None
    flags = engine_facts(LLAMA, release).flags
    if not any(_FLAG.match(word) for word in words):
        raise InputError(path, "holds no settings", _FIX)
    values: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for flag, value in _pairs(words):
        if flag in flags:
            _add_flag(path, values, flag, flags[flag], value, release)
        elif suggestion := did_you_mean(flag, flags):
            unknown[flag] = f"no sampling flag of llama.cpp {release}; {suggestion}"
    return Source(str(path), "start flags", "flag", LLAMA, values, unknown)


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each flag and the word after it; "" where another flag follows."""
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if _FLAG.match(word):
            yield word, "" if _FLAG.match(value) else value


def _add_flag(
    path: Path, values: dict[str, Any], flag: str, name: str, text: str, release: str
) -> None:
    """Add the value of a flag. Raises InputError for one that lacks a value or has no number."""
    kind = engine_facts(LLAMA, release).parameters[name].type
    if kind == "boolean":
        values[name] = True
    elif kind == "texts":
        values[name] = [] if text == "none" else [*values.get(name, []), _unescaped(text)]
    elif kind == "biases":
        values[name] = [*values.get(name, []), _bias(path, flag, text)]
    elif kind == "samplers":
        values.pop("sampler_seq", None)
        values[name] = text.split(";")
    elif kind == "letters":
        values.pop("samplers", None)
        values[name] = text
    else:
        values[name] = _number(path, flag, text)


def _number(path: Path, flag: str, text: str) -> float | int:
    match = _NUMBER.match(text)
    if match is None:
        raise InputError(path, f"{flag} {text[:60]}: not a number", f"write {flag} NUMBER")
    number = float(match[0])
    if not math.isfinite(number):
        raise InputError(path, f"{flag} {text[:60]}: too large", f"write {flag} NUMBER")
    return int(number) if number.is_integer() and "." not in match[0] else number


def _bias(path: Path, flag: str, text: str) -> list[Any]:
    match = _BIAS.fullmatch(text)
    if match is None:
        raise InputError(path, f"{flag} {text[:60]}: no bias", f"write {flag} 15043+1")
    size = math.inf if match[3] in ("inf", "infinity") else _number(path, flag, match[3])
    return [int(match[1]), float(size) if match[2] == "+" else -float(size)]


def _unescaped(text: str) -> str:
    """Return a text of a flag with its escapes replaced, as llama.cpp does by default."""
    for escape, character in (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'")):
        text = text.replace(escape, character)
    return text
