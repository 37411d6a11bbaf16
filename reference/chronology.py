"""The releases of llama.cpp by age, and targets.

A target is a release `b4753`, a platform `linux-arm64-gcc`, or `b4753/linux-arm64-gcc`.
reference/releases.py has the meanings of each release.
"""

import math
import re

from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, platform_of

OLDEST, NEWEST = "b3889", "v0.5.0"
SEEN = "b11549"  # the newest release judged; it means by every sampler what v0.5.0 does

# The builds of the releases by version, as `llama-cli --version` of Homebrew's prints them
# ("version: 0.5.0 (build 11146, commit 7fe450e19)").
BUILDS = {"v0.2.0": 10566, "v0.3.0": 10621, "v0.4.0": 10809, "v0.5.0": 11146}


def order(release: str) -> tuple[float, ...]:
    """Return a key that sorts releases by age, however they are named: b3889 < v0.5.0 < b11549. A
    version newer than all in BUILDS comes after every build. Raises ChainError."""
    if match := re.fullmatch(r"b(\d{1,9})", release):
        return (int(match[1]),)
    if release in BUILDS:
        return (BUILDS[release],)
    match = re.fullmatch(r"v(\d{1,9})\.(\d{1,9})\.(\d{1,9})", release)
    if match is None:
        short = release if len(release) <= 40 else f"{release[:40]}..."
        raise ChainError(f"release {short!r} is not a release of llama.cpp: write b4753 or v0.5.0")
    version = tuple(map(int, match.groups()))
    if version < max(tuple(map(int, text[1:].split("."))) for text in BUILDS):
        raise ChainError(
            f"release {release!r} has no known build number (known: {', '.join(BUILDS)})."
            " Write the build that its `llama-cli --version` prints, such as b10621"
        )
    return (math.inf, *version)


def check_known(release: str) -> None:
    """Raise ChainError for an unsupported release, or a text that names no release."""
    if not order(OLDEST) <= order(release) <= order(SEEN):
        raise ChainError(f"release {release} is not supported: choose one from {OLDEST} to {SEEN}")


def parted(target: str) -> tuple[str, str]:
    """Split into release and platform; by default v0.5.0 and x86-64 Linux. Raises ChainError."""
    release, slash, platform = target.partition("/")
    if slash:
        order(release)
        return release, platform_of(platform).name
    if target in PLATFORMS:
        return NEWEST, target
    try:
        order(target)
    except ChainError as error:
        raise ChainError(f"{error}; or name a platform: {', '.join(PLATFORMS)}") from None
    return target, DEFAULT


def joined(release: str, platform: str) -> str:
    """Join release and platform in the shortest form: the release alone for x86-64 Linux."""
    return release if platform == DEFAULT else f"{release}/{platform}"
