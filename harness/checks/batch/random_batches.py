"""Random batches of rows whose state depends on the order of tokens: `random_batches`.

Each place of a batch has a kind of chain. A sequence that takes a place has this kind, with other
parameters than the one before it: a state that is left behind is one that it can use. Rows are
replaced, reset and cloned. They also verify drafts: a clone accepts drafted tokens and leaves, then
its original goes on with those that were right.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.batch.block import BatchCase
from sampler_parity.harness.checks.grid import SuiteBlock
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Count, Id, Random, Seed, Size

Kind = tuple[str, ...]  # samplers with a state, the last of which draws
Parameters = dict[str, list[Any]]

# Values at which the order of few tokens counts, and a state left behind moves the next draw.
REMEMBERING: dict[str, Parameters] = {
    "penalties": {
        "penalty_last_n": [1, 1, 2, 3, 4], "penalty_repeat": [1.0, 1.5, 4.0],
        "penalty_freq": [0.0, 0.5], "penalty_present": [0.7, 3.0],
    },
    "dry": {
        "dry_multiplier": [0.8, 3.0], "dry_base": [1.25, 1.75],
        "dry_allowed_length": [0, 1, 2], "dry_penalty_last_n": [-1, 4, 64],
    },
}  # fmt: skip
_DRAWING: dict[str, Parameters] = {
    "dist": {},
    "mirostat": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0], "m": [2, 100]},
    "mirostat_v2": {"tau": [0.5, 2.0, 3.0], "eta": [0.1, 1.0]},
    "adaptive_p": {"target": [0.1, 0.3, 0.6], "decay": [0.5, 0.9, 0.99]},
}
_BETWEEN: dict[str, Parameters] = {
    "temp": {"temp": [0.6, 1.5]}, "top_k": {"k": [4, 9]}, "top_p": {"p": [0.9]},
    "min_p": {"p": [0.02]},
}  # fmt: skip
_ANEW = "adaptive_p"  # its clone begins its random numbers anew (findings 4)
_MEMORIES: list[Kind] = [(), ("penalties",), ("dry",), ("penalties", "dry")]
_EVENTS = ("stay", "replace", "reset", "copy", "verify")
_CHANCES = (0.64, 0.14, 0.07, 0.07, 0.08)
_HISTORY = 12  # tokens of a prompt or an output, at most
_SPARE = 3  # more rows of logits than live rows, so that the next step gives a row another one


class RandomBatches(SuiteBlock):
    """Random batches of 2 to 8 rows; case i depends on seed + shift and i alone."""

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    count: Count
    seed: Seed = 0
    families: list[Family] = Field(min_length=1)
    """families of logits; rows take them in turn"""
    sizes: list[Size] = Field(min_length=1)
    steps: Annotated[int, Field(ge=1, le=limits.STAGES)]
    """number of steps; drafts add some"""
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    quick: Random = 0

    def items(self, quick: bool, shift: int) -> Iterator[BatchCase]:
        for i in range(min(self.quick, self.count) if quick else self.count):
            yield self._case(self.seed + shift, i)

    def _case(self, seed: int, index: int) -> BatchCase:
        rng = np.random.default_rng([seed, index])
        n, rows = one_of(rng, self.sizes), int(rng.integers(2, 9))
        kinds = [(*one_of(rng, _MEMORIES), one_of(rng, list(_DRAWING))) for _ in range(rows)]
        writer = _Writer(rng, n, kinds)
        while len(writer.steps) < self.steps:
            writer.go_on()
        return BatchCase.model_validate(
            {
                "id": f"{self.id}/{seed}-{index:04}",
                "description": self.description,
                "why": self.why,
                "logits": {"families": self.families, "n": n, "seed": seed + index},
                "batch": {
                    "sequences": writer.sequences,
                    "steps": writer.steps,
                    "alone": self.alone,
                },
            }
        )


@dataclass
class _Writer:
    """A script being written. kinds: of each place."""

    rng: np.random.Generator
    n_vocab: int
    kinds: list[Kind]
    sequences: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    written: int = 0

    def go_on(self) -> None:
        """Write a step in which rows sample, and those of the drafts before it."""
        last = len(self.kinds)
        if not self.steps:
            self._step([self._join(at) for at in range(last)], range(last))
            return
        before: list[Any] = []
        for at, kind in enumerate(self.kinds):
            event = self.rng.choice(_EVENTS, p=_CHANCES)
            behind, leave = ["swap", at, last - 1], ["leave", last - 1]
            if event == "replace":
                before += [behind, leave, self._join(at), behind]
            elif event == "copy" and kind[-1] != _ANEW:
                before += [["clone", at], ["swap", at, last], ["leave", last]]
            elif event == "reset":
                before.append(["reset", at])
            elif event == "verify":
                before = self._verify(before, at)
        sampling = self.rng.permutation(last)[: int(self.rng.integers(1, last + 1))]
        self._step(before, sampling)

    def _verify(self, before: list[Any], at: int) -> list[Any]:
        """Write the steps of 3 to 8 drafts of a row, and return what is left to be done."""
        draft = tokens(self.rng, int(self.rng.integers(3, 9)), self.n_vocab)
        accepted = int(self.rng.integers(0, len(draft) + 1))
        if self.kinds[at][-1] != _ANEW:
            place = len(self.kinds)
            before = [*before, ["clone", at]]
            for token in draft:
                self._step(before, [place], token)
                before = []
            before = [["leave", place]]
        for token in draft[:accepted]:
            self._step(before, [at], token)
            before = []
        return before

    def _step(self, before: list[Any], places: Any, accept: int | None = None) -> None:
        sample = []
        for at in places:
            taken: Any = "selected" if accept is None else accept
            if accept is None and self.rng.random() < 0.1:
                taken = None if self.rng.random() < 0.5 else int(self.rng.integers(self.n_vocab))
            self.written += 1
            row = self.written % (len(self.kinds) + _SPARE)
            sample.append({"at": int(at), "row": row, "accept": taken})
        self.steps.append({"before": before, "sample": sample})

    def _join(self, at: int) -> list[Any]:
        rng = self.rng
        *memory, drawing = self.kinds[at]
        chain = [stage(rng, name, REMEMBERING[name]) for name in memory]
        if rng.random() < 0.5:
            name = one_of(rng, list(_BETWEEN))
            chain.insert(int(rng.integers(len(chain) + 1)), stage(rng, name, _BETWEEN[name]))
        seed = {"seed": [int(rng.integers(1 << 31))]}
        chain.append(stage(rng, drawing, _DRAWING[drawing] | seed))
        prompt, output = (
            tokens(rng, int(rng.integers(0, _HISTORY + 1)), self.n_vocab) for _ in range(2)
        )
        self.sequences.append({"chain": chain, "prompt": prompt, "output": output})
        return ["join", len(self.sequences) - 1]


def one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def stage(rng: np.random.Generator, name: str, values: Parameters) -> dict[str, dict[str, Any]]:
    """Return a stage with one value of each parameter."""
    return {name: {key: one_of(rng, of_key) for key, of_key in values.items()}}


def tokens(rng: np.random.Generator, count: int, n_vocab: int) -> list[int]:
    """Return tokens of a few, so that parts of them come again."""
    few = min(n_vocab, int(rng.integers(2, 5)))
    return [int(token) for token in rng.integers(0, few, count)]
