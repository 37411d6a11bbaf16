"""Parse a target: a release `b4753`, a platform `linux-arm64-gcc`, or `b4753/linux-arm64-gcc`."""

from sampler_parity.reference.chronology import NEWEST, order
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, platform_of


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
