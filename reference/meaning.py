"""Whose meaning, in one word: `b4753`, `linux-arm64-gcc`, or both: `b4753/linux-arm64-gcc`."""

from sampler_parity.reference.chronology import NEWEST, order
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.platforms import DEFAULT, PLATFORMS, platform_of


def parted(meaning: str) -> tuple[str, str]:
    """Release and platform; where it does not say, v0.5.0 and x86-64 Linux. Raises ChainError."""
    release, slash, platform = meaning.partition("/")
    if slash:
        order(release)
        return release, platform_of(platform).name
    if meaning in PLATFORMS:
        return NEWEST, meaning
    try:
        order(meaning)
    except ChainError as error:
        raise ChainError(f"{error}; or name a platform: {', '.join(PLATFORMS)}") from None
    return meaning, DEFAULT


def joined(release: str, platform: str) -> str:
    """The shortest word that says a platform: the release alone where it is x86-64 Linux."""
    return release if platform == DEFAULT else f"{release}/{platform}"
