"""The blocks of a suite file, and the messages for mistakes in it."""

from collections.abc import Iterator
from typing import Annotated, Any, Union

from pydantic import Discriminator, Field, Tag, ValidationError, create_model

from sampler_parity.harness.checks import tables
from sampler_parity.harness.checks.cases import AnyCase
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.rows import Table, load
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


def _block_of(table: list[Table]) -> Any:
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
