"""Turn the blocks of a suite into checks. This loads every kind of block."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sampler_parity.harness.checks import KINDS, Profile
from sampler_parity.harness.errors import InputError, need
from sampler_parity.harness.inputs.validation import FileValidator
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.printable import cut
from sampler_parity.harness.strict import ABOUT_KEYS
from sampler_parity.harness.suite.model import BLOCKS, Suite, reason_of

_NO_CASES = [table.name for kind in KINDS.values() if not kind.cases for table in kind.tables]
_OTHERS = tuple(dict.fromkeys(_NO_CASES))
_OF_CASES = tuple(name for name in BLOCKS if name not in _OTHERS)
_FEW = 3  # of each random block, if a few are enough


def expanded(
    path: Path,
    suite: Suite,
    cases: bool,
    profile: Profile,
    seed: int = 0,
    few_random: bool = False,
) -> Iterator[Any]:
    """Yield the cases of a suite, or its other checks. Raises InputError."""
    validation, names = FileValidator(path), set[tuple[str, str]]()
    for name in _OF_CASES if cases else _OTHERS:
        for block in suite.blocks(name):
            place = f"{name} {block.id!r}"
            if name == "fuzz":
                need("fuzz", f"{path}: {place}")
            takes = inspect.signature(block.items).parameters
            if few_random:
                block = _few(name, block, "shift" in takes)
            known = {
                "quick": profile == "quick" or (few_random and "shift" in takes),
                "shift": seed,
                "shared": suite.chains,
                "sizes": suite.sizes,
            }
            with _placed(path, place):
                for short in block.items(**{name: known[name] for name in takes}):
                    check = short
                    if not KINDS[check.check].own_ids:
                        check = short.model_copy(update={"id": f"{path.stem}/{short.id}"})
                    _add(path, place, names, check)
                    check.validate_input(validation, place)
                    yield check


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


def _add(path: Path, place: str, names: set[tuple[str, str]], check: Any) -> None:
    name = check.id
    if len(name) > limits.ID:
        problem = f"{place}: the id {cut(name, 40)!r} has {len(name):,} characters"
        raise InputError(path, problem, f"use {limits.ID} at most")
    if len(names) >= limits.CASES:
        raise InputError(path, f"{place}: over {limits.CASES:,} cases in one file", "split it")
    key = KINDS[check.check].noun, name
    if key in names:
        raise InputError(path, f"{place}: duplicate id {name!r}", "give every block its own")
    names.add(key)
