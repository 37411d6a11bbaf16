"""Expansions of suites that earlier runs of the same code made, in the user's cache folder.

Only a suite of the package has one: a suite of a user may name other files, which may change. The
cache's file is that of the code, suites, engines and libraries (harness/inputs/cache.py), and a key
has all else that an expansion reads. A value is a pickle after its digest; a damaged one counts as
absent. In each run one suite that was read is expanded again (`spot_check`).
"""

import hashlib
import pickle
import random
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.machine import version_of
from sampler_parity.harness.errors import InputError, lacks
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.suite import engine_lines
from sampler_parity.harness.suite.ids import is_shipped, shipped, suite_id

Names = list[tuple[str, str]]  # ids with descriptions
_LIBRARIES = ("pydantic", "hypothesis")  # those that are not in the name of the cache's file
_LEAST_S = 0.001  # for the chance of a spot check


@dataclass(frozen=True)
class _Read:
    """An expansion that was read. seconds: of processor time that it took to make."""

    suite: str
    checks: list[Any]
    seconds: float
    make: Callable[[], Iterable[Any]]


@dataclass
class Expansions:
    """Read expansions, and keep those that are made."""

    cache: Cache
    _around: str = field(default_factory=lambda: _around())
    _read: list[_Read] = field(default_factory=list)

    def of(
        self, path: Path, sha256: str, how: tuple[Any, ...], make: Callable[[], Iterable[Any]]
    ) -> Iterable[Any]:
        """Return an expansion of the suite in a file. how: the options of the expansion."""
        if not is_shipped(path):
            return make()
        key = self._key(suite_id(path), sha256, how)
        cached = unpacked(self.cache.get("suites", key))
        if cached is not None:
            checks, seconds = cached
            self._read.append(_Read(suite_id(path), checks, seconds, make))
            return [*checks]
        start = time.process_time()
        checks = [*make()]
        value = packed((checks, time.process_time() - start))
        self.cache.put("suites", {key: value})
        return checks

    @cached_property
    def lines(self) -> engine_lines.Lines:
        """The lines of engines for suites: to parse their files takes longer than to read these. A
        suite that is gone has another key, so a line for it is still an error."""
        key = self._key("lines", [*shipped()])
        cached: engine_lines.Lines | None = unpacked(self.cache.get("suites", key))
        if cached is None:
            cached = engine_lines.all_lines()
            self.cache.put("suites", {key: packed(cached)})
        return cached

    def names(
        self, name: str, paths: Iterable[Path], about: bool, make: Callable[[], Names]
    ) -> Names:
        """Return the ids of the checks of a suite or folder of the package, in the full profile.

        paths: its files. about: with descriptions, else these are empty. The names are never made
        again: `list` prints them, and decides nothing.
        """
        digest = hashlib.sha256()
        for path in paths:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        keys = [self._key(name, digest.hexdigest(), column) for column in ("ids", "descriptions")]
        # Without `about` only the ids are read: descriptions are most of the text.
        cached = [unpacked(self.cache.get("suites", key)) for key in keys[: 1 + about]]
        if None in cached:
            expanded = make()
            columns = (
                [id for id, _ in expanded],
                [what.replace("\n", " ") for _, what in expanded],
            )
            values = (packed("\n".join(column)) for column in columns)
            self.cache.put("suites", dict(zip(keys, values, strict=True)))
            return expanded
        ids, *descriptions = (text.split("\n") if text else [] for text in cached)
        return [*zip(ids, *descriptions, strict=True)] if about else [(id, "") for id in ids]

    def _key(self, *parts: Any) -> bytes:
        return hashlib.sha256(repr((parts, self._around)).encode()).digest()

    def spot_check(self, seed: str) -> None:
        """Read the lines of engines again, and make the expansion of one suite that was read again.
        Raises InputError if one differs.

        The seed draws the suite, in inverse proportion to the time that its expansion took. So the
        check is short, and no suite is left out for ever. The message names the suite.
        """
        fix = "delete the file, and run again"
        if "lines" in vars(self) and self.lines != engine_lines.all_lines():
            raise InputError(
                self.cache.path, "its lines of engines are not those of the files", fix
            )
        suites: dict[str, list[_Read]] = {}
        for read in self._read:
            suites.setdefault(read.suite, []).append(read)
        if not suites:
            return
        took = (sum(read.seconds for read in parts) for parts in suites.values())
        weights = [1 / max(_LEAST_S, seconds) for seconds in took]
        (drawn,) = random.Random(seed).choices([*suites], weights)
        # As text, because NaN is not equal to itself.
        if any(repr([*read.make()]) != repr(read.checks) for read in suites[drawn]):
            problem = f"its cases of suite {drawn} differ from those that the suite has now"
            raise InputError(self.cache.path, problem, fix)


def _around() -> str:
    """Return what an expansion reads, and neither a key nor the name of the cache's file has."""
    golden = Path(str(files("sampler_parity.golden")))
    stats = sorted((str(path), path.stat()) for path in golden.rglob("*.gguf"))
    fixtures = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return repr((fixtures, [version_of(name) for name in _LIBRARIES], lacks("fuzz")))


def packed(value: Any) -> bytes:
    content = zlib.compress(pickle.dumps(value), 1)
    return hashlib.sha256(content).digest() + content


def unpacked(value: bytes | None) -> Any:
    """Return the value that was packed; None if there is none, or if it is damaged."""
    if value is None or hashlib.sha256(value[32:]).digest() != value[:32]:
        return None
    return pickle.loads(zlib.decompress(value[32:]))
