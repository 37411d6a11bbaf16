"""Twins: two instances of a sampler that are alike and one with other parameters, in one process.

State that belongs to no instance - a static buffer, a generator found by its seed, one coin for
all, parameters of the one built last - gives correct results while one chain is alive. A [[twins]]
block puts the three into one chain, of which several instances take uneven turns. A pool of states
is correct until it is full: `many` puts that number into the chain, each with a seed or window of
its own.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import Field, field_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock, fill
from sampler_parity.harness.checks.stages.blocks.ladder import of_newest, refuse_unknown
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.reference.registry import ROWS, Row

_HISTORY = [1, 2, 0, 1, 2, 0, 1]


class Twins(NamedBlock):
    """Chains with several instances of a sampler. It shows state that instances share."""

    id: str = Field(pattern=r"^[a-z0-9_\-]+$")
    samplers: list[str] = Field(default=[])
    """samplers to use; none: those of random chains"""
    steps: int = Field(ge=1)
    many: int = Field(default=0, ge=0, le=256)
    """instances of each sampler in a chain; 0: two equal ones and another"""
    quick: bool = True

    @field_validator("samplers")
    @classmethod
    def _are_known(cls, names: list[str]) -> list[str]:
        for name in names:
            refuse_unknown(name)
        return names

    def items(self, quick: bool) -> Iterator[Case]:
        if self.quick or not quick:
            for name in self.samplers or [n for n in of_newest() if _is_drawn(ROWS[n])]:
                yield self._case(name, ROWS[name])

    def _case(self, name: str, row: Row) -> Case:
        # 303: the size of the vocabulary `bpe`
        n = 303 if row.vocab else 24
        smallest, different = dict(row.smallest), fill({**row.smallest, **others(row)}, {}, n)
        settings = [smallest, smallest, different]
        if self.many:
            settings = [_own(row, (smallest, different)[i % 2], i) for i in range(self.many)]
        select = [] if row.kind == "select" else [{"dist": {"seed": 5}}]
        return case_from(
            self.about(name),
            chain=[*({name: setting} for setting in settings), *select],
            logits=GeneratedLogits(family="normal", n=n, seed=3),
            history=_HISTORY,
            steps=self.steps,
            script="turns",
            vocab="bpe" if row.vocab else None,
        )


def _is_drawn(row: Row) -> bool:
    return row.edges is not None or row.edges_with_vocab is not None


def _own(row: Row, setting: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the setting with the i-th seed and window, if the sampler has them."""
    windows = {
        name: i + 2 for name in ("penalty_last_n", "dry_penalty_last_n") if name in row.sizes
    }
    return setting | windows | ({"seed": i} if "seed" in (row.edges or {}) else {})


def others(row: Row) -> dict[str, Any]:
    """Return other values than the smallest setting's: the middle one of each parameter's edges."""
    values = {}
    for name, edges in (row.edges or {}).items():
        different = [value for value in edges if value != row.smallest.get(name)]
        values[name] = different[len(different) // 2]
    return values
