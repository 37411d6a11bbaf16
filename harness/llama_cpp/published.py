"""The published versions of packages: those with a prebuilt llama.cpp, and all of pip and npm."""

import json
import re
import subprocess
import sys
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import toml_of

_PACKAGES = Path(__file__).with_name("packages.toml")
_TIMEOUT_S = 120.0
# of npm, then of pip
_WHY = re.compile(r"npm error code (\w+)|broken by .*?: (.*?)'\)|^ERROR: (.*)", re.MULTILINE)


def packages() -> dict[str, str]:
    table: dict[str, str] = toml_of(_PACKAGES, _PACKAGES.read_bytes())["node-llama-cpp"]
    return table


def published(need: str, kind: str) -> list[str]:
    """Return the released versions of a package by pip or npm. Raises InputError."""
    package = need.rpartition("==" if kind == "python" else "@")[0]
    pip = [sys.executable, "-m", "pip", "index", "versions", "--retries", "1", package]
    npm = ["npm", "view", package, "versions", "--json", "--fetch-retries", "1"]
    command = pip if kind == "python" else npm
    try:
        result = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(package, f"its versions cannot be listed: {error}") from None
    if result.returncode:
        reasons = [groups for groups in _WHY.findall(result.stderr) if any(groups)]
        reason = "".join(reasons[0]) if reasons else f"exit status {result.returncode}"
        raise InputError(package, f"its versions cannot be listed: {reason}")
    listed = re.search(r"Available versions: (.*)", result.stdout)
    words = listed[1].split(", ") if listed else json.loads(result.stdout)
    return [word for word in words if re.fullmatch(r"[0-9.]+", word)]  # no previews


def numbers(version: str) -> tuple[float, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
