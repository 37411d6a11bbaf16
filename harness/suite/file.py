"""Suites: TOML files that define what is checked, and their expansion into cases.

`docs/reference/suite-toml.md` describes the format. Everything wrong with a file is an InputError
that names the file, the block and the field.
"""

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sampler_parity.harness.checks import KINDS, Profile
from sampler_parity.harness.checks.distribution.block import KINDS as OF_CELLS
from sampler_parity.harness.errors import InputError, lacking, lacks, need
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.sanitize.printable import cut
from sampler_parity.harness.strict import ABOUT_KEYS
from sampler_parity.harness.suite.engine_lines import with_lines
from sampler_parity.harness.suite.ids import may_be_of
from sampler_parity.harness.suite.model import BLOCKS, Suite, explain, reason_of
from sampler_parity.harness.suite.shipped import shipped
from sampler_parity.harness.suite.shipped import suite_id as suite_id
from sampler_parity.harness.suite.shipped import suites_folder as suites_folder
from sampler_parity.harness.suite.validation import FileValidator

_OTHERS = (*OF_CELLS, "skip_ratio", "chain", "grid")  # blocks that make no case
_OWN_IDS = ("timing", "throughput")  # they begin with the kind, and not with the suite
_OF_CASES = tuple(name for name in BLOCKS if name not in _OTHERS)
_FEW = 3  # of each random block, if a few are enough


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its file was when it was read, once. sha256: of the file and of the lines that
    engines add to it."""

    path: Path
    suite: Suite
    sha256: str


def is_shipped(path: Path) -> bool:
    """Return whether it is a suite of the package, which is found by its name from any folder."""
    suite = shipped().get(suite_id(path.resolve()))
    return suite is not None and suite.resolve() == path.resolve()


def find_suites(names: list[str]) -> list[Path]:
    """Return the files of suites given as "parity", "parity/top_p" or by path, each once, in order.
    Raises InputError for a name that is neither a suite, a folder of suites nor a file."""
    paths = [path for name in names for path in _find(name)]
    return list(dict.fromkeys(paths))


def _find(name: str) -> list[Path]:
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(name, "no such suite file")
        return [Path(name)]
    suites = shipped()
    if name in suites:
        return [suites[name]]
    if of_group := [path for suite, path in suites.items() if suite.startswith(f"{name}/")]:
        return of_group
    groups = sorted({suite.partition("/")[0] for suite in suites})
    exist = f"there are: {', '.join([*groups, *suites])}; or give the path of a TOML file"
    raise InputError(name, "no such suite", meant(name) or exist)


def meant(name: str) -> str:
    """Return a hint with the suites that an unknown name may mean: parity/top_p for `top_p`."""
    names = {suite.partition("/")[2]: suite for suite in reversed(shipped())}
    groups = {suite.partition("/")[0] for suite in shipped()}
    return did_you_mean(name, [*groups, *shipped()], names)


def read_suite(path: Path) -> SuiteFile:
    """Read a suite. Raises InputError if the file cannot be read, is no TOML, or is not a suite."""
    content = read_file(path, limits.TOML)
    data, lines = with_lines(path, toml_of(path, content))
    digest = hashlib.sha256(content + lines).hexdigest()
    try:
        return SuiteFile(path, Suite.model_validate(data), digest)
    except ValidationError as error:
        raise InputError(path, *explain(error, data)) from None


def lacking_extra(file: SuiteFile) -> str:
    """Return the message for a suite whose cases need an extra that is not installed; else ""."""
    return lacking("fuzz") if file.suite.fuzz and lacks("fuzz") else ""


def expand(
    file: SuiteFile | Path, profile: Profile, seed: int = 0, few_random: bool = False
) -> list[Any]:
    """Return the cases of a suite in this profile, in the order of the file. Raises InputError.

    seed is added to the seeds of random blocks; everything else is the same in every run.
    few_random: only a few cases of each random block, for callers that read suites without running
    them.
    """
    read = read_suite(file) if isinstance(file, Path) else file
    return _expanded(read, _OF_CASES, profile, seed, few_random)


def expand_others(file: SuiteFile, profile: Profile) -> list[Any]:
    """Return the checks of a suite in this profile that are not cases. Raises InputError."""
    return _expanded(file, _OTHERS, profile)


def checks_of(
    file: SuiteFile, profile: Profile, seed: int = 0, only: Sequence[str] = ()
) -> list[Any]:
    """Return all checks of a suite. only: patterns; without cases if none can match."""
    cases = expand(file, profile, seed) if may_be_of(file.path.stem, only) else []
    return [*cases, *expand_others(file, profile)]


def expand_kind(kind: str, file: SuiteFile, profile: Profile) -> list[Any]:
    """Return the checks of one kind that are not cases."""
    return [check for check in expand_others(file, profile) if check.check == kind]


def _expanded(
    file: SuiteFile,
    blocks: Sequence[str],
    profile: Profile,
    seed: int = 0,
    few_random: bool = False,
) -> list[Any]:
    validation, checks = FileValidator(file.path), dict[tuple[str, str], Any]()
    for name in blocks:
        for block in getattr(file.suite, name):
            place = f"{name} {block.id!r}"
            if name == "fuzz":
                need("fuzz", f"{file.path}: {place}")
            takes = inspect.signature(block.items).parameters
            if few_random:
                block = _few(name, block, "shift" in takes)
            known = {
                "quick": profile == "quick" or (few_random and "shift" in takes),
                "shift": seed,
                "shared": file.suite.chains,
                "sizes": file.suite.sizes,
            }
            with _placed(file.path, place):
                for short in block.items(**{name: known[name] for name in takes}):
                    check = short
                    if check.check not in _OWN_IDS:
                        check = short.model_copy(update={"id": f"{file.path.stem}/{short.id}"})
                    _add(file.path, place, checks, check)
                    validation.check(place, check)
    return list(checks.values())


def _few(name: str, block: Any, is_random: bool) -> Any:
    """Return a block that makes only a few random cases."""
    if is_random:
        return block.model_copy(update={"quick": min(block.count, _FEW)})
    if name == "batch":
        return block.model_copy(update={"seeds": block.seeds[:1]})
    if name == "grammar":
        return block.model_copy(update={"walks": min(block.walks, 1)})
    return block


@contextmanager
def _placed(path: Path, place: str) -> Iterator[None]:
    """Add the file and the place to every mistake in a block."""
    try:
        yield
    except ValidationError as error:
        wrong = reason_of(error)
        field = f"{wrong.location[-1]}: " if wrong.type in ABOUT_KEYS else ""
        raise InputError(path, f"{place}: {field}{wrong.reason}") from None
    except ValueError as error:
        raise InputError(path, f"{place}: {error}") from None


def _add(path: Path, place: str, checks: dict[tuple[str, str], Any], check: Any) -> None:
    name = check.id
    if len(name) > limits.ID:
        problem = f"{place}: the id {cut(name, 40)!r} has {len(name):,} characters"
        raise InputError(path, problem, f"use {limits.ID} at most")
    if len(checks) >= limits.CASES:
        raise InputError(path, f"{place}: over {limits.CASES:,} cases in one file", "split it")
    key = KINDS[check.check].noun, name
    if key in checks:
        raise InputError(path, f"{place}: duplicate id {name!r}", "give every block its own")
    checks[key] = check
