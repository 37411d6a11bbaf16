"""Read presets of front ends and the Modelfile of Ollama.

Source of SillyTavern's names: createTextGenGenerationData, public/scripts/textgen-settings.js.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.limits import json_of
from sampler_parity.programs.settings.facts import facts

_PARAMETER = re.compile(r"^\s*PARAMETER\s+(\S+)\s+(.*?)\s*$", re.MULTILINE | re.IGNORECASE)
YAML = re.compile(r"\s*(#.*\n\s*)*[a-z_]+:(\s|$)")
MODELFILE = re.compile(r"^\s*(FROM|PARAMETER)\s+\S", re.MULTILINE | re.IGNORECASE)


def sillytavern_request(data: dict[str, Any]) -> dict[str, Any]:
    """Return the request that SillyTavern sends to llama-server for a preset."""
    table = facts()["sillytavern"]
    request = {
        table["names"].get(name, name): value
        for name, value in data.items()
        if name not in table["fields"] and not name.startswith(("dynatemp", "min_temp", "max_temp"))
    }
    request |= _dynamic(data, "dynatemp", "min_temp", "max_temp")
    if "dynatemp_range" in request:
        request["dynatemp_exponent"] = data.get("dynatemp_exponent")
    return request | _breakers(request)


def webui_values(data: dict[str, Any]) -> dict[str, Any]:
    """Return a preset of text-generation-webui with the values that it derives for llama-server."""
    values = data | _dynamic(data, "dynamic_temperature", "dynatemp_low", "dynatemp_high")
    if "repetition_penalty_range" in data:
        values["dry_penalty_last_n"] = data["repetition_penalty_range"]
    return values | _breakers(values)


def _dynamic(data: dict[str, Any], switch: str, low: str, high: str) -> dict[str, float]:
    """Return the temperature and its range, if the range is switched on."""
    ends = [end for key in (low, high) if isinstance(end := data.get(key, 1), int | float)]
    if data.get(switch) is not True or len(ends) < 2:
        return {}
    return {"temperature": sum(ends) / 2, "dynatemp_range": (ends[1] - ends[0]) / 2}


def _breakers(values: dict[str, Any]) -> dict[str, Any]:
    """Return the breakers of DRY, where they are a text: a list as JSON, with or without []."""
    text = values.get("dry_sequence_breakers")
    with suppress(ValueError):
        if isinstance(text, str):
            return {"dry_sequence_breakers": json_of(text if text[:1] == "[" else f"[{text}]")}
    return {}


def yaml_values(text: str) -> dict[str, Any]:
    """Return the values of a preset in YAML, which are no tables. Raises ValueError."""
    import yaml

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).replace("\n", " ")) from None
    if not isinstance(data, dict) or any(isinstance(value, dict) for value in data.values()):
        raise ValueError("not a table of values")
    return {str(name): value for name, value in data.items()}


def modelfile_options(path: Path, text: str) -> dict[str, Any]:
    """Return the options of a Modelfile. Raises InputError for a parameter without its value."""
    types = {name: row["type"] for name, row in facts()["engines"]["ollama"]["parameters"].items()}
    options: dict[str, Any] = {}
    for name, value in _PARAMETER.findall(text):
        try:
            kind = types.get(name, "")
            options[name] = json_of(value) if kind else value
        except ValueError:
            problem = f"PARAMETER {name[:60]} {value[:60]}: not {facts()['types'][kind]}"
            raise InputError(path, problem, "correct the value") from None
    return options
