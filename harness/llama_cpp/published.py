"""The published versions of packages: all of pip and npm, those with a prebuilt llama.cpp, and the
newest."""

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import toml_of
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.harness.llama_cpp.wheels import EXTENSIONS, release_of
from sampler_parity.reference.chronology import SEEN

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


class Offer(NamedTuple):
    """A version of a package. release: "" if only the fetched package states it."""

    package: str
    version: str
    release: str
    newer: bool


def offers() -> list[Offer]:
    """Return of each package the versions with a newer release than the modelled ones, the oldest
    first, or else its newest version. Raises InputError."""
    releases = {version: release for release, version in packages().items()}
    last, node = max(map(numbers, releases)), "node-llama-cpp"
    versions = published(f"{node}@", "node")
    rows = [Offer(node, v, releases.get(v, ""), numbers(v) > last) for v in versions]
    for package in EXTENSIONS:
        for version in published(f"{package}==", "python"):
            with suppress(InputError):  # a version without a build number
                release = release_of(package, version)
                rows.append(Offer(package, version, release, order(release) > order(SEEN)))
    rows.sort(key=lambda offer: numbers(offer.version))
    newest = {offer.package: offer for offer in rows}
    return [offer for offer in rows if offer.newer or offer is newest[offer.package]]
