"""Random batches of rows whose state depends on the order of tokens: `random_batches`.

Each place of a batch has a kind of chain. A sequence that takes a place has this kind, with other
parameters than the one before it: a state that is left behind is one that it can use. Rows are
replaced, reset and cloned. They also verify drafts: a clone accepts drafted tokens and leaves, then
its original goes on with those that were right. A mixed block has filters, and forks that stay.
Its sequences join again, or have the chain of another one in another order and one stage anew.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.random_block import REMEMBERING, Draw, Parameters, RandomBlock
from sampler_parity.harness.sanitize import limits
from sampler_parity.reference.registry import ROWS

Kind = tuple[str, ...]  # samplers with a state, the last of which draws

_DRAWING: dict[str, Parameters] = {
    "dist": {},
    "mirostat": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0], "m": [2, 100]},
    "mirostat_v2": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0]},
    "adaptive_p": {"target": [0.1, 0.3, 0.6], "decay": [0.5, 0.9, 0.99]},
}
_BETWEEN: dict[str, Parameters] = {"temp": {"temp": [0.6, 1.5]}, "top_k": {"k": [4, 9]}}
_KEPT: Parameters = {"min_keep": [0, 0, 3]}
_FILTERS: dict[str, Parameters] = {
    "temp": {"temp": [0.0, 0.6, 1.0, 1.5]}, "top_k": {"k": [0, 1, 3, 9]},
    "temp_ext": {"temp": [0.6, 1.5], "delta": [0.0, 0.5], "exponent": [0.5, 2.0]},
    "top_p": {"p": [0.4, 0.9, 1.0]} | _KEPT, "min_p": {"p": [0.0, 0.05, 0.4]} | _KEPT,
    "typical_p": {"p": [0.3, 0.9, 1.0]} | _KEPT, "top_n_sigma": {"n": [-1.0, 0.5, 2.0]},
    "xtc": {"p": [0.0, 0.5, 1.0], "t": [0.05, 0.3]} | _KEPT,
    "logit_bias": {"logit_bias": [[], [[0, 5.0]], [[1, -math.inf], [2, 3.0]], [[3, 4.0]]]},
}  # fmt: skip
_BREAKERS: Parameters = {"seq_breakers": [[], ["\x01"], ["\x02", "\x03"]]}  # a token each
_KNOWN = REMEMBERING | _FILTERS | _DRAWING | {"greedy": {}}
_FILTERS |= {  # of a sampler that is new: its smallest parameters
    name: {parameter: [value] for parameter, value in row.smallest.items()}
    for name, row in ROWS.items()
    if row.edges is not None and not row.vocab and name not in _KNOWN
}
_ALL = _KNOWN | _FILTERS
_SEEDED = {*_DRAWING, "xtc"}
_ANEW = "adaptive_p"  # its clone begins its random numbers anew (findings 4)
_MEMORIES: list[Kind] = [(), ("penalties",), ("dry",), ("penalties", "dry")]
_EVENTS = ["stay"] * 20 + ["replace"] * 4 + ["reset", "copy", "verify", "verify"]
MOST_ROWS = 8  # of a block that is not wide
_SPARE = 3  # more rows of logits than live rows, so that the next step gives a row another one


class RandomBatches(RandomBlock):
    """Random batches of 2 to 8 rows; wide: 9 to 64."""

    steps: Annotated[int, Field(ge=1, le=limits.STAGES)]
    """number of steps; each row that verifies drafts adds some"""
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    mixed: bool = False
    """chains of any filters, which may be off, and greedy; forks that stay, rows that only leave"""
    wide: bool = False
    """9 to 64 rows; if mixed, of the same samplers in any order, with more filters"""

    vocab: str | None = None
    """name of a vocabulary; dry then has sequence breakers"""

    def case(self, draw: Draw, about: dict[str, Any], seed: int) -> BatchCase:
        n, drawing = draw.one_of(self.sizes), [*_DRAWING] + ["greedy"] * self.mixed
        rows = draw.number(9, 64) if self.wide else draw.number(2, MOST_ROWS)
        kinds = [(*draw.one_of(_MEMORIES), draw.one_of(drawing)) for _ in range(rows)]
        if self.mixed:
            kinds = [_filtered(draw, kind, 5 if self.wide else 3) for kind in kinds]
            for at in range(1, rows):
                if self.wide or not draw.number(0, 2):
                    kinds[at] = _ordered(draw, kinds[at - 1])
        writer = _BatchWriter(draw, n, kinds, self.mixed, self.vocab is not None)
        for _ in range(self.steps):
            writer.go_on()
        batch = {"sequences": writer.sequences, "steps": writer.steps, "alone": self.alone}
        logits = {"families": self.families, "n": n, "seed": seed}
        return BatchCase.model_validate(
            about | {"logits": logits, "batch": batch, "vocab": self.vocab}
        )


def _filtered(draw: Draw, kind: Kind, most: int) -> Kind:
    """Return the stages with 1 to `most` filters among them."""
    filters = draw.rng.permutation(list(_FILTERS))[: draw.number(1, most)].tolist()
    return _ordered(draw, (*filters, *kind))


def _ordered(draw: Draw, kind: Kind) -> Kind:
    """Return the stages in any order; a bias comes first, as in llama.cpp, the last stays last."""
    names = draw.rng.permutation(list(kind[:-1])).tolist()
    return (*sorted(names, key=lambda name: name != "logit_bias"), kind[-1])


@dataclass
class _BatchWriter:
    """A script being written. kinds: of each place."""

    draw: Draw
    n_vocab: int
    kinds: list[Kind]
    mixed: bool
    breakers: bool
    sequences: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    written: int = 0

    def go_on(self) -> None:
        """Write a step in which some rows sample, and those of the drafts before it."""
        last = len(self.kinds)
        before = [] if self.steps else [self._join(at) for at in range(last)]
        for at, kind in enumerate(self.kinds if self.steps else []):
            event = self.draw.one_of(_EVENTS)
            behind = ["swap", at, last - 1]
            if event == "replace":
                before += [behind, ["leave", last - 1], self._join(at), behind]
            elif event == "copy" and kind[-1] != _ANEW:
                before += [["clone", at], ["swap", at, last], ["leave", last]]
            elif event == "reset":
                before.append(["reset", at])
            elif event == "verify":
                before = self._verify(before, at)
        if self.mixed and self.steps:
            before += self._fork_or_leave()
            last = len(self.kinds)
        self._step(before, self.draw.rng.permutation(last)[: self.draw.number(1, last)].tolist())

    def _verify(self, before: list[Any], at: int) -> list[Any]:
        """Write the steps of 3 to 8 drafts of a row, and return what is left to be done."""
        draft, place = self.draw.tokens(3, 8, self.n_vocab), len(self.kinds)
        if self.kinds[at][-1] != _ANEW:
            before = [*before, ["clone", at]]
            for token in draft:
                self._step(before, [place], token)
                before = []
            before = [["leave", place]]
        for token in draft[: self.draw.number(0, len(draft))]:
            self._step(before, [at], token)
            before = []
        return before

    def _fork_or_leave(self) -> list[Any]:
        """Return a clone that stays as a row of its own, one or all that leave, or nothing."""
        at, rows = self.draw.number(0, len(self.kinds) - 1), len(self.kinds)
        if self.draw.number(0, 2) and self.kinds[at][-1] != _ANEW and rows < MOST_ROWS:
            self.kinds.append(self.kinds[at])
            return [["clone", at]]
        if self.draw.number(0, 1) and rows > 1:
            del self.kinds[at]
            return [["leave", at]]
        if not self.draw.number(0, 3):
            return [["leave", 0]] * rows + [self._join(at) for at in range(rows)]
        return []

    def _step(self, before: list[Any], places: list[int], accept: int | None = None) -> None:
        sample = []
        for at in places:
            others = ["selected"] * 18 + [None, self.draw.number(0, self.n_vocab - 1)]
            taken = self.draw.one_of(others) if accept is None else accept
            self.written += 1
            # two of three rows share a row of logits, as forks of a sequence do
            row = (self.written - self.written % 3 // 2) % (len(self.kinds) + _SPARE)
            sample.append({"at": at, "row": row, "accept": taken})
        self.steps.append({"before": before, "sample": sample})

    def _join(self, at: int) -> list[Any]:
        draw, kind = self.draw, self.kinds[at]
        known = [{k: v for stage in s["chain"] for k, v in stage.items()} for s in self.sequences]
        alike = [i for i, chain in enumerate(known) if chain.keys() == {*kind}]
        if self.mixed and alike and not draw.number(0, 3):
            return ["join", draw.one_of(alike)]
        if self.mixed and alike and draw.number(0, 1):
            of, anew = known[draw.one_of(alike)], draw.one_of(list(kind))
            chain = [self._stage(name) if name == anew else {name: of[name]} for name in kind]
        else:
            chain = [self._stage(name) for name in kind]
        if not self.mixed and draw.number(0, 1):
            name = draw.one_of(list(_BETWEEN))
            chain.insert(draw.number(0, len(kind) - 1), draw.stage(name, _BETWEEN[name]))
        past = {name: self._past() for name in ("prompt", "output")}
        self.sequences.append({"chain": chain, **past})
        return ["join", len(self.sequences) - 1]

    def _past(self) -> list[int]:
        return self.draw.tokens(0, 12, self.n_vocab) if self.draw.number(0, 3) else []

    def _stage(self, name: str) -> dict[str, dict[str, Any]]:
        seed = {"seed": [self.draw.number(0, (1 << 32) - 2)]} if name in _SEEDED else {}
        breakers = _BREAKERS if name == "dry" and self.breakers else {}
        return self.draw.stage(name, _ALL[name] | seed | breakers)
