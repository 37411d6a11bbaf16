"""Find the version at which a difference began, by bisection over the versions between two.

Versions come from registered builds and packages.toml, or from `pip index versions` and `npm view`.
One that is missing is fetched when it is asked; one that cannot be fetched is passed over.
"""

from collections.abc import Callable, Sequence

from sampler_parity.harness.backends import environments, installing, registry
from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.engine_file import Engine
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.published import numbers, packages, published
from sampler_parity.harness.llama_cpp.recorded import builds_folder, find
from sampler_parity.harness.llama_cpp.signatures import order
from sampler_parity.programs.upgrade.compare import Shift, compare, version_of
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.releases import CHANGES

CaseOf = Callable[[StagesCase, str], StagesCase]


def bisected(
    cases: Sequence[StagesCase], old: str, new: str, case_of: CaseOf = lambda case, _: case
) -> list[str]:
    """Return the newest version known to be as the old one, and the oldest known to differ. cases:
    that differ between both ends; one change made them differ. case_of: returns a case with the
    chain of a version. Raises InputError."""
    versions, low, first = [old, *between(old, new), new], 0, version_of(old)
    # versions[low] is as the old one, and the last one differs.
    while low < len(versions) - 2:
        middle = (low + len(versions) - 1) // 2
        try:
            version = version_of(_made(versions[middle]))
            later = [case_of(case, versions[middle]) for case in cases]
        except InputError:
            del versions[middle]
            continue
        compared = (compare(a, first, version, b) for a, b in zip(cases, later, strict=True))
        if any(isinstance(shift, Shift) for shift in compared):
            del versions[middle + 1 :]
        else:
            low = middle
    return versions[low:]


def between(old: str, new: str) -> list[str]:
    """Return the backends between two versions of an engine. Raises InputError."""
    first, last = (registry.parse(name) for name in (old, new))
    row = ENGINES.get(first.engine)
    versioned = row is not None and (row.builds or row.environment or row.name == "reference")
    if row is None or not versioned or first.engine != last.engine:
        raise InputError(
            "--bisect", "needs two versions of one engine", "write ENGINE@VERSION twice"
        )
    begin, end = (_age(row, backend.of) for backend in (first, last))
    low, high = sorted((begin, end))
    ages = {name: age for name, age in _ages(row).items() if low < age < high}
    return sorted(ages, key=lambda name: ages[name], reverse=begin > end)


def _age(row: Engine, of: str) -> tuple[float, ...]:
    """Return a sort key of a version. Raises InputError."""
    if row.environment:
        return numbers(of or environments.known(row.environment).version)
    build = find(of) if row.builds and of else None
    return order((build.release if build else of) or NEWEST)


def _ages(row: Engine) -> dict[str, tuple[float, ...]]:
    """Return the sort keys of all versions of an engine, by backend."""
    if row.environment:
        environment = environments.known(row.environment)
        return {
            f"{row.name}@{v}": numbers(v) for v in published(environment.needs[0], environment.kind)
        }
    ends = {end for change in CHANGES for end in (change.last_old, change.first_new)}
    releases = _of_builds() if row.builds else {release: release for release in ends}
    return {f"{row.name}@{name}": order(release) for name, release in releases.items()}


def _of_builds() -> dict[str, str]:
    """Return the releases of builds by name: registered ones, and those of packages.toml."""
    registered = (find(path.parent.name) for path in builds_folder().glob("*/build.json"))
    installed = {b.name: b.release for b in registered if b and b.release and not b.platform}
    return {name: name for name in packages() if name not in installed.values()} | installed


def _made(name: str) -> str:
    """Fetch a version if it is not there. Raises InputError."""
    parsed = registry.parse(name)
    row = ENGINES[parsed.engine]
    if row.environment:
        installing.add(f"{row.environment}=={parsed.of}")
    elif row.builds and find(parsed.of) is None:
        builds.add(f"node-llama-cpp@{packages()[parsed.of]}")
    return name
