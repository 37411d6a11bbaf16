"""Properties that engines are tested for: the cases of their suite, in words."""

from collections.abc import Collection, Sequence

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.suite.file import expand, read_suite
from sampler_parity.harness.suite.shipped import shipped
from sampler_parity.reports.pages.matrix.model import Property

FOLDER = "properties"  # of suites/
# As they are read; the others follow by name.
_ORDER = (
    *("order", "ties", "top_k_zero", "top_p_one", "temp_zero", "off", "min_keep", "ignored"),
    *("masked", "seed", "batch_rows"),
)


def asked_of(bundles: Sequence[Bundle], names: Collection[str]) -> list[Property]:
    """Return the properties in a fixed order, in the words of the suites here."""
    ordered = [name for name in _ORDER if name in names]
    return [_asked(bundles, name) for name in [*ordered, *sorted(set(names) - set(ordered))]]


def _asked(bundles: Sequence[Bundle], name: str) -> Property:
    suite = f"{FOLDER}/{name}"
    digests = {bundle.info.suites.get(suite) for bundle in bundles} - {None}
    path = shipped().get(suite)
    if path is None:
        return Property(name=name, title=name.replace("_", " "), changed=True, cases={})
    file = read_suite(path)
    cases = {case.id: case.description for case in expand(file, "full")}
    return Property(name=name, title=file.suite.name, changed=digests != {file.sha256}, cases=cases)
