"""Blocks of a suite that sample many sequences at once: `batch`.

docs/background/batches.md explains them.
"""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks.batch.batched import Batched
from sampler_parity.harness.checks.batch.scripts import SCRIPTS, Name, Writer
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import SuiteBlock, fill
from sampler_parity.harness.engines.samplers import separates_prompt
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.inputs.validation import FileValidator
from sampler_parity.harness.protocol.dtypes import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Id, Seed, Size

Rows = Annotated[int, Field(ge=1, le=limits.STAGES)]
_SPARE = 3  # more rows of logits than a step uses, so that the next step gives a row another one
_HISTORY = 12  # tokens of a prompt or an output, at most


class BatchCase(Case):
    """Many rows at once, each of which is compared."""

    check: ClassVar[str] = "batch"
    chosen_by = ("batch",)

    batch: Batched
    """sequences and steps, as in the request `batch`"""
    vocab: str | None = None
    dtype: Dtype = "float32"

    @property
    def chains(self) -> list[ChainSpec]:
        return [sequence.chain for sequence in self.batch.sequences]

    @property
    def samplers(self) -> list[str]:
        return list(dict.fromkeys(super().samplers))

    @property
    def cost(self) -> int:
        stages = sum(len(stage) for chain in self.chains for stage in chain) / len(self.chains)
        return int(self.logits.n * self.batch.samples * stages)

    @property
    def separates_prompt(self) -> bool:
        return any(
            sequence.prompt and separates_prompt(sequence.chain)
            for sequence in self.batch.sequences
        )

    def validate_input(self, validator: FileValidator, place: str) -> None:
        distinct: dict[str, tuple[str, ChainSpec]] = {}
        for i, sequence in enumerate(self.batch.sequences):
            named = f"batch.sequences.{i}.chain", sequence.chain
            distinct.setdefault(_without_seeds(sequence.chain), named)
        validator.judged(place, self.logits, self.vocab, [*distinct.values()])


class FewBatches(SuiteBlock):
    """The quick profile's values of a block: a subset of each field; all values of a field not
    named."""

    sizes: list[int] | None = None
    rows: list[int] | None = None
    scripts: list[Name] | None = None
    seeds: list[int] | None = None


class Batches(SuiteBlock):
    """A case for each size of the vocabulary, number of rows at once, script and seed.

    Sequences take the chains in turn; each case begins with another one. "$seed" in a chain is the
    sequence's own; every fourth has the same. families: rows of logits take them in turn.
    """

    id: Id = Field(pattern=r"^[a-z0-9_\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    chains: dict[str, ChainSpec] = Field(min_length=1)
    """chains by name; sequences take them in turn, and `"$seed"` is the sequence's own seed"""
    families: list[Family] = Field(min_length=1)
    """families of logits; rows take them in turn"""
    sizes: list[Size] = Field(min_length=1)
    rows: list[Rows] = Field(min_length=1)
    """numbers of rows at once"""
    scripts: list[Name] = Field(min_length=1)
    """names of scripts: what joins, leaves, is cloned or swapped"""
    seeds: list[Seed] = Field(default=[0])
    steps: int = Field(ge=1, le=limits.STAGES)
    detail: Literal["stages", "token"] = "stages"
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    reference: bool = True
    """whether the reference predicts each row, in addition to the relations"""
    vocab: str | None = None
    dtype: Dtype = "float32"
    quick: bool | FewBatches = True

    def items(self, quick: bool) -> Iterator[BatchCase]:
        """Yield the cases. Raises ValueError if quick names a value that the block lacks."""
        axes: dict[str, list[Any]] = {
            name: getattr(self, name) for name in ("sizes", "rows", "scripts", "seeds")
        }
        if isinstance(self.quick, FewBatches):
            for name, values in axes.items():
                few = getattr(self.quick, name)
                missing = [value for value in few or [] if value not in values]
                if missing:
                    raise ValueError(f"quick.{name}: {missing[0]!r} is not in the block")
                axes[name] = few if quick and few is not None else values
        elif quick and not self.quick:
            return
        for n, rows, script, seed in itertools.product(*axes.values()):
            yield self._case(n, rows, script, seed)

    def _case(self, n: int, rows: int, script: Name, seed: int) -> BatchCase:
        number = sorted(SCRIPTS).index(script)
        rng = np.random.default_rng([seed, n, rows, number])
        first = int(rng.integers(1 << 20))
        sequences = [self._sequence(first + i, n, rng) for i in range(2 * rows)]
        writer = Writer(rng, rows, len(sequences), rows + _SPARE, n)
        steps = [SCRIPTS[script](writer) for _ in range(self.steps)]
        batch = {"sequences": sequences, "steps": steps, "alone": self.alone}
        return BatchCase.model_validate(
            {
                "id": f"{self.id}/V{n}-x{rows}-{script}-s{seed}",
                "description": self.description,
                "why": self.why,
                "logits": {"families": self.families, "n": n, "seed": seed},
                "batch": batch | {"reference": self.reference},
                "detail": self.detail,
                "vocab": self.vocab,
                "dtype": self.dtype,
            }
        )

    def _sequence(self, number: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        names = list(self.chains)
        chain = self.chains[names[number % len(names)]]
        seed = 1 + (number if number % 4 else 0) % 1000

        def tokens() -> list[int]:
            alphabet = min(n, 8)  # few, so that some come again
            return [int(t) for t in rng.integers(0, alphabet, int(rng.integers(0, _HISTORY + 1)))]

        return {"chain": fill(chain, {"seed": seed}, n), "prompt": tokens(), "output": tokens()}


def _without_seeds(chain: ChainSpec) -> str:
    """Return the chain as text without its seeds: chains that differ only there are built once."""
    return str(
        [
            {name: {key: value for key, value in given.items() if key != "seed"}}
            for stage in chain
            for name, given in stage.items()
        ]
    )
