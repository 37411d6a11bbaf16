"""The blocks of a suite file, the messages for mistakes in it, its expansion into checks, and the
text of a case as such a block. This loads every kind of block."""

import inspect
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import Discriminator, Field, Tag, ValidationError, create_model

from sampler_parity.harness.checks import KINDS, Profile, tables
from sampler_parity.harness.checks.cases import AnyCase
from sampler_parity.harness.errors import InputError, need
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.rows import SuiteTable, load
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.printable import cut
from sampler_parity.harness.strict import ABOUT_KEYS, Mistake, Size, Strict, mistake


class Suite(Strict):
    """A suite file. SUITE adds the tables of the kinds."""

    name: str
    """one sentence about the suite"""
    sampler: str | None = None
    """the sampler that the suite is about, if there is one"""
    chains: dict[str, ChainSpec] = {}
    """chains by name, for blocks that have none of their own"""
    sizes: list[Size] = []
    """sizes for every timed `grid` that has none of its own"""

    def blocks(self, table: str) -> list[Any]:
        """Return the blocks of a table of the file."""
        blocks: list[Any] = getattr(self, table)
        return blocks

    def described(self) -> Iterator[Any]:
        """Yield every block with a description; timed blocks have none."""
        for name in BLOCKS:
            yield from (block for block in self.blocks(name) if hasattr(block, "description"))


def _block_of(table: list[SuiteTable]) -> Any:
    """Return the type of a block: if several kinds have a table of its name, it is selected by the
    key of one."""
    if len(table) == 1:
        return load(table[0].model)
    tagged = tuple(Annotated[load(row.model), Tag(row.model)] for row in table)

    def chosen(block: Any) -> str:
        data = block if isinstance(block, dict) else vars(block)
        return [t.model for t in table if not t.key or data.get(t.key) is not None][-1]

    return Annotated[Union[tagged], Discriminator(chosen)]  # noqa: UP007


_TABLES = tables()
BLOCKS = ("case", *_TABLES)
_SEVERAL = {"case", *(name for name, table in _TABLES.items() if len(table) > 1)}
_FIELDS: dict[str, Any] = {"case": (list[AnyCase], Field([], description="single cases"))}
_FIELDS |= {
    name: (list[_block_of(table)], Field([], description=table[0].about))  # type: ignore[misc]
    for name, table in _TABLES.items()
}
SUITE = create_model("Suite", __base__=Suite, __module__=__name__, **_FIELDS)


def explain(error: ValidationError, data: dict[str, Any]) -> tuple[str, str]:
    """Return the problem and the fix of the first mistake: block with its id, field, reason."""
    _, location, reason, fix = reason_of(error)
    parts = [str(part) for part in location]
    if len(location) >= 2 and location[0] in BLOCKS and isinstance(location[1], int):
        block = data[location[0]][location[1]]
        name = block.get("id") if isinstance(block, dict) else None
        label = repr(name) if name else f"number {location[1] + 1}"
        inner = location[3:] if location[0] in _SEVERAL else location[2:]  # after the kind
        parts = [f"{location[0]} {label}", ".".join(str(part) for part in inner)]
    return f"{': '.join(part for part in parts if part)}: {reason}", fix


def reason_of(error: ValidationError) -> Mistake:
    """Return the mistake to show. If the keys of logits are wrong, it lists all forms of logits."""
    first = mistake(error)
    if "logits" not in first.location or first.type not in ABOUT_KEYS:
        return first
    members = "must be {values}, {probs}, {family, n, seed}, {log_of_id} or {golden, row}"
    return first._replace(reason=members, fix="")


_NO_CASES = [table.name for kind in KINDS.values() if not kind.cases for table in kind.tables]
_OTHERS = tuple(dict.fromkeys(_NO_CASES))
_OF_CASES = tuple(name for name in BLOCKS if name not in _OTHERS)
_FEW = 3  # of each random block, if a few are enough


def expanded(
    path: Path, suite: Suite, cases: bool, profile: Profile, seed: int = 0, few_random: bool = False
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


def case_block(case: dict[str, Any], table: str = "case") -> str:
    lines = [f"{key} = {_value(value)}" for key, value in case.items()]
    return "\n".join([f"[[{table}]]", *lines]) + "\n"


def _value(value: Any) -> str:
    """Return a value as inline TOML, because a table of its own cannot be inside a list."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if value is None:
        return '""'  # TOML has no null; dry skips a breaker that is empty as one that is none
    # TOML writes texts, integers, true as JSON does, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
