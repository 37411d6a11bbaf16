"""Every input that is fuzzed: valid samples of it, who reads it, and how it is changed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attack.fuzzing.ways import Way


@dataclass(frozen=True)
class Fuzzed:
    """prepare: valid samples, after putting what must stand beside the file into the folder.

    read: takes the file, or raises InputError or one of refusals. weight: how many of all inputs
    are of this kind; those that take longer have fewer.
    """

    name: str
    file: str
    prepare: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    ways: tuple[Way, ...]
    weight: int = 100
    refusals: tuple[type[Exception], ...] = ()


def inputs() -> dict[str, Fuzzed]:
    """By name."""
    from tests.attack.fuzzing import bundles, files, models, replies

    rows = [*files.INPUTS, *models.INPUTS, *replies.INPUTS, *bundles.INPUTS]
    return {row.name: row for row in rows}
