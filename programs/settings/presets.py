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
MODELFILE = re.compile(r"^\s*(FROM|PARAMETER)\s+\S", re.MULTILINE | re.IGNORECASE)


def sillytavern_request(data: dict[str, Any]) -> dict[str, Any]:
    """Return the request that SillyTavern sends to llama-server for a preset."""
    table = facts()["sillytavern"]
    request = {
        table["names"].get(name, name): value
        for name, value in data.items()
        if name not in table["fields"] and not name.startswith(("dynatemp", "min_temp", "max_temp"))
    }
    ends = [
        end for key in ("min_temp", "max_temp") if isinstance(end := data.get(key), int | float)
    ]
    if data.get("dynatemp") is True and len(ends) == 2:
        request |= {"temperature": sum(ends) / 2, "dynatemp_range": (ends[1] - ends[0]) / 2}
        request["dynatemp_exponent"] = data.get("dynatemp_exponent")
    if isinstance(breakers := request.get("dry_sequence_breakers"), str):
        with suppress(ValueError):
            request["dry_sequence_breakers"] = json_of(breakers)
    return request


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
