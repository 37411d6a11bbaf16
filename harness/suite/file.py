"""Suites: TOML files that define what is checked, and their expansion into cases.

`docs/reference/suite-toml.md` describes the format. Everything wrong with a file is an InputError
that names the file, the block and the field.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.errors import InputError, lacking, lacks
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.rows import joined, load
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.suite import engine_lines
from sampler_parity.harness.suite.expansion_cache import Expansions
from sampler_parity.harness.suite.ids import is_shipped as is_shipped
from sampler_parity.harness.suite.ids import may_be_of, shipped
from sampler_parity.harness.suite.ids import suite_id as suite_id
from sampler_parity.harness.suite.ids import suites_folder as suites_folder

if TYPE_CHECKING:  # loads every kind of block
    from sampler_parity.harness.suite.model import Suite


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its file was when it was read, once. sha256: of the file and of the lines that
    engines add to it. content: of the file, or what it means."""

    path: Path
    content: "bytes | Suite"
    sha256: str

    @cached_property
    def suite(self) -> "Suite":
        """The suite. May raise InputError if the file was not read by read_suite."""
        content = self.content
        return _suite_of(self.path, content) if isinstance(content, bytes) else content


def find_suites(names: list[str]) -> list[Path]:
    """Return the files of suites given as "parity", "parity/top_p" or by path, each once, in order.
    Raises InputError for a name that is neither a suite, a folder of suites nor a file."""
    return [*dict.fromkeys(path for name in names for path in _find(name))]


def _find(name: str) -> list[Path]:
    suites = shipped()
    if named := [path for suite, path in suites.items() if f"{suite}/".startswith(f"{name}/")]:
        return named
    if os.path.isfile(name):
        return [Path(name)]
    if name.endswith(".toml"):
        raise InputError(name, "no such suite file")
    groups = sorted({suite.partition("/")[0] for suite in suites})
    exist = f"there are: {', '.join([*groups, *suites])}; or give the path of a TOML file"
    raise InputError(name, "no such suite", meant(name) or exist)


def meant(name: str) -> str:
    """Return a hint with the suites that an unknown name may mean: parity/top_p for `top_p`."""
    names = {suite.partition("/")[2]: suite for suite in reversed(shipped())}
    groups = {suite.partition("/")[0] for suite in shipped()}
    return did_you_mean(name, [*groups, *shipped()], names)


def read_suite(path: Path) -> SuiteFile:
    """Read a suite. Raises InputError if the file is unreadable, not TOML, or not a suite."""
    file = read_unparsed(path)
    return replace(file, content=file.suite)


def read_unparsed(path: Path, expansions: Expansions | None = None) -> SuiteFile:
    """Do as read_suite, and find mistakes when its blocks are first needed.

    expansions: those of earlier runs, with the lines of engines."""
    readers = joined("SUITES") if path.suffix != ".toml" else ()
    content = load(readers[0])(path) if readers else read_file(path, limits.TOML)
    lines = engine_lines.bytes_of(path, expansions.lines if expansions else None)
    return SuiteFile(path, content, hashlib.sha256(content + lines).hexdigest())


def _suite_of(path: Path, content: bytes) -> "Suite":
    from pydantic import ValidationError

    from sampler_parity.harness.suite.model import SUITE, explain  # as in _expanded

    data = engine_lines.merged(path, toml_of(path, content))
    try:
        return SUITE.model_validate(data)
    except ValidationError as error:
        raise InputError(path, *explain(error, data)) from None


def lacking_extra(file: SuiteFile) -> str:
    """Return the message for a suite whose cases need an extra that is not installed; else ""."""
    return lacking("fuzz") if lacks("fuzz") and file.suite.blocks("fuzz") else ""


def expand(
    file: SuiteFile | Path, profile: Profile, seed: int = 0, few_random: bool = False
) -> list[Any]:
    """Return the cases of a suite in this profile, in the order of the file. Raises InputError.

    seed is added to the seeds of random blocks; everything else is the same in every run.
    few_random: only a few cases of each random block, for callers that read suites without running
    them.
    """
    read = read_suite(file) if isinstance(file, Path) else file
    return [*_expanded(read, True, profile, seed, few_random)]


def checks_of(
    file: SuiteFile,
    profile: Profile,
    seed: int = 0,
    only: Sequence[str] = (),
    expansions: Expansions | None = None,
) -> Iterator[Any]:
    """Yield all checks of a suite. only: patterns; without cases if none can match. expansions:
    those of earlier runs, which are read and added to."""

    def cases() -> Iterator[Any]:
        return _expanded(file, True, profile, seed)

    def others() -> Iterator[Any]:
        return _expanded(file, False, profile)

    parts = {"others": others}
    if may_be_of(file.path.stem, only):
        parts = {"cases": cases, **parts}
    for part, make in parts.items():
        how = (part, profile, seed)
        yield from expansions.of(file.path, file.sha256, how, make) if expansions else make()


def expand_kind(kind: str, file: SuiteFile, profile: Profile) -> list[Any]:
    """Return the checks of one kind that are not cases. Raises InputError."""
    return [check for check in _expanded(file, False, profile) if check.check == kind]


def _expanded(file: SuiteFile, *how: Any) -> Iterator[Any]:
    from sampler_parity.harness.suite.model import expanded  # loads every kind of block

    return expanded(file.path, file.suite, *how)
