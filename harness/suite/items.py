"""The items of suites: everything that a run of them would do."""

import functools
import itertools
import tomllib
from collections.abc import Iterable
from pathlib import Path

from sampler_parity.harness.checks import NOUNS, Profile
from sampler_parity.harness.checks.item import CheckItem, packed
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.phase import phase
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.expansion_cache import Expansions
from sampler_parity.harness.suite.ids import id_fits

SAMPLER = "sampler="  # begins a limit to the cases of a sampler
# Suites with cases of llama.cpp's samplers that any adapter may run.
OF_SAMPLERS = ["parity", "batch", "distribution", "grammar", "origin", "properties", "speculative"]


@functools.cache
def quick_cases() -> dict[str, int]:
    """Return the number of quick cases of each sampler in the suites that any adapter may run."""
    return tomllib.loads(Path(__file__).with_name("cases_of_samplers.toml").read_text("utf-8"))


def files_of(
    names: list[str], expansions: Expansions | None = None
) -> tuple[dict[str, suite.SuiteFile], dict[str, str]]:
    """Return the files of suites by name, and why suites of a folder are left out: they lack an
    extra. expansions: as in `checks_of`. Raises InputError."""
    paths = suite.find_suites(names)
    files = [
        suite.read_unparsed(p, expansions) if expansions else suite.read_suite(p) for p in paths
    ]
    named_files = [(suite.suite_id(file.path), file) for file in files]
    left_out = {
        name: why
        for name, file in named_files
        if (why := suite.lacking_extra(file)) and not {name, str(file.path)} & {*names}
    }
    named_files = [(name, file) for name, file in named_files if name not in left_out]
    for (name, first), (other_name, second) in itertools.combinations(named_files, 2):
        if name == other_name:
            raise InputError(
                second.path, f"is suite {name}, as is {first.path}", "rename one of them"
            )
    return dict(named_files), left_out


@phase("expanding the suites")
def items_of(
    files: dict[str, suite.SuiteFile],
    profile: Profile,
    seed: int,
    only: tuple[str, ...],
    expansions: Expansions | None = None,
) -> list[CheckItem]:
    """Return the items of suites, by name, in the order of their kinds. only: patterns of `--case`,
    which also name cases of the full profile, and samplers (`SAMPLER`NAME). expansions: as in
    `checks_of`. Raises InputError."""
    ids = ids_of(only)
    items = [
        item
        for name, file in files.items()
        for item in packed(
            name, suite.checks_of(file, "full" if ids else profile, seed, ids, expansions)
        )
    ]
    _refuse_repeated(items)
    items.sort(key=lambda item: NOUNS.index(item.kind.noun))
    if samplers := {word.removeprefix(SAMPLER) for word in only if word not in ids}:
        items = [item for item in items if samplers & {*getattr(item.check, "samplers", ())}]
        if not items:
            problem = "no case of these suites has it"
            raise InputError(f"--sampler {' '.join(sorted(samplers))}", problem, "leave out SUITES")
    return _only(items, ids) if ids else items


def ids_of(only: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of ids among the limits of a run."""
    return tuple(word for word in only if not word.startswith(SAMPLER))


def _refuse_repeated(items: list[CheckItem]) -> None:
    """Raise InputError for an id that is in two suites: a result is known by its id alone."""
    suites: dict[str, str] = {}
    for item in items:
        if item.id in suites:
            problem = f"is in {suites[item.id]} and in {item.suite}"
            raise InputError(f"case {item.id}", problem, "run them into separate bundles")
        suites[item.id] = item.suite


def _only(items: list[CheckItem], patterns: tuple[str, ...]) -> list[CheckItem]:
    """Keep the items of `--case`, ids or patterns. Raises InputError for one that names nothing."""
    ids, selected = {item.id for item in items}, set[str]()
    for pattern in patterns:
        item = pattern.partition("@")[0]
        fitting = {item} if item in ids else {name for name in ids if id_fits(name, item)}
        if not fitting:
            hint = did_you_mean(pattern, ids) or suite.meant(pattern.partition("/")[0])
            fix = hint or "`sampler-parity list cases` has the ids"
            raise InputError(f"--case {pattern}", "no such case", fix)
        selected |= fitting
    return [item for item in items if item.id in selected]
