"""Every input that is fuzzed: its valid samples, its reader, and the ways to change it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attack.fuzzing.ways import Way


@dataclass(frozen=True)
class Fuzzed:
    """prepare: valid samples, after putting the files that must be next to the file into the
    folder.

    read: takes the file, or raises InputError or one of refusals. weight: share of the inputs that
    are of this kind; slow kinds have fewer.
    """

    name: str
    file: str
    prepare: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    ways: tuple[Way, ...]
    weight: int = 100
    refusals: tuple[type[Exception], ...] = ()


def inputs() -> dict[str, Fuzzed]:
    """Return all kinds of input by name."""
    from tests.attack.fuzzing import bundles, files, models, recordings, replies, servers

    rows = [*files.INPUTS, *models.INPUTS, *replies.INPUTS, *bundles.INPUTS, *recordings.INPUTS]
    rows += servers.INPUTS
    return {row.name: row for row in rows}
