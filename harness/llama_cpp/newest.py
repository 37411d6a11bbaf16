"""The newest packages with a prebuilt llama.cpp, and those newer than every modelled release."""

from contextlib import suppress
from typing import NamedTuple

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.published import numbers, packages, published
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.harness.llama_cpp.wheels import EXTENSIONS, release_of
from sampler_parity.reference.chronology import SEEN


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
