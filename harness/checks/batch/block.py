"""Blocks of a suite that sample many sequences at once: `batch`.

docs/background/batches.md explains them."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.grid import NamedBlock, SuiteBlock, fill
from sampler_parity.harness.engines.samplers import separates_prompt
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Family
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.live import check_script
from sampler_parity.harness.protocol.messages import BatchSequence, BatchStep, ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Seed, Size, Strict
from sampler_parity.reference.random import DEFAULT_SEED

_MOST = 4_096  # sequences and steps of a case: the request is one line


class Batched(Strict):
    """Sequences and the script of a case of a batch."""

    sequences: list[BatchSequence] = Field(min_length=1, max_length=_MOST)
    """the sequences that may join"""
    steps: list[BatchStep] = Field(min_length=1, max_length=_MOST)
    """the events, step by step"""
    alone: int | None = Field(default=None, ge=0)
    """how many of the rows are also run on their own; null: all"""
    reference: bool = True
    """whether the reference predicts each row, in addition to the relations"""

    @model_validator(mode="after")
    def _fits(self) -> "Batched":
        check_script(self.steps, len(self.sequences), self.rows)
        if not any(step.sample for step in self.steps):
            raise ValueError("no row samples in any step")
        return self

    @property
    def rows(self) -> int:
        """Return how many rows of logits the script names."""
        return 1 + max((sample.row for step in self.steps for sample in step.sample), default=-1)

    @property
    def samples(self) -> int:
        """Return how many rows sample, in all steps together."""
        return sum(len(step.sample) for step in self.steps)


def seeded(chain: ChainSpec) -> bool:
    """Return whether its tokens can be predicted: no sampler draws its own seed."""
    parameters = (values for stage in chain for values in stage.values())
    return all(values.get("seed") != DEFAULT_SEED for values in parameters)


Name = Literal["steady", "shuffled", "slots", "condensed", "clones", "serving"]


@dataclass
class Writer:
    """A script being written. size: the most rows that are live. sequences: their number; after the
    last the first joins again. rows: of logits, more than are live."""

    rng: np.random.Generator
    size: int
    sequences: int
    rows: int
    n_vocab: int
    live: int = 0
    joined: int = 0
    written: int = 0

    def join(self) -> list[Any]:
        self.live, self.joined = self.live + 1, self.joined + 1
        return ["join", (self.joined - 1) % self.sequences]

    def clone(self) -> list[Any]:
        self.live += 1
        return ["clone", int(self.rng.integers(self.live - 1))]

    def leave(self, at: int | None = None) -> list[Any]:
        at = int(self.rng.integers(self.live)) if at is None else at
        self.live -= 1
        return ["leave", at]

    def swap(self) -> list[Any]:
        # it may be the same row twice, which must change nothing
        return ["swap", *(int(i) for i in self.rng.choice(self.live, 2))]

    def fill(self) -> list[Any]:
        return [self.join() for _ in range(self.size - self.live)]

    def step(self, before: Iterable[Any], places: Iterable[Any], varied: bool = False) -> BatchStep:
        """Return a step. varied: some rows accept nothing, or a random token."""
        sample = []
        for at in places:
            self.written += 1
            accept: Any = "selected"
            if varied and self.rng.random() < 0.2:
                accept = None if self.rng.random() < 0.5 else int(self.rng.integers(self.n_vocab))
            row = self.written % self.rows
            sample.append({"at": int(at), "row": row, "accept": accept})
        return BatchStep.model_validate({"before": list(before), "sample": sample})


def steady(script: Writer) -> BatchStep:
    """Let all rows join and sample, in the order of their places."""
    return script.step(script.fill(), range(script.live))


def shuffled(script: Writer) -> BatchStep:
    """Swap rows, and sample in any order."""
    before = script.fill() + [script.swap() for _ in range(2)]
    return script.step(before, script.rng.permutation(script.live))


def slots(script: Writer) -> BatchStep:
    """Replace a row in each step, like the slots of a server: one leaves, another joins."""
    before = [script.leave()] if script.live else []
    return script.step(before + script.fill(), range(script.live))


def condensed(script: Writer) -> BatchStep:
    """Move the last row into the place of the one that leaves; the row that joined last waits."""
    before = []
    if script.live > 1:
        before = [["swap", int(script.rng.integers(script.live)), script.live - 1]]
        before.append(script.leave(script.live - 1))
    before += script.fill()
    return script.step(before, range(max(1, script.live - 1)))


def clones(script: Writer) -> BatchStep:
    """Let half of the rows join and clone the others; originals leave, and clones are cloned."""
    before = [script.leave(0)] if script.live > 1 else []
    while script.live < max(1, script.size // 2):
        before.append(script.join())
    before += [script.clone() for _ in range(script.size - script.live)]
    return script.step(before, range(script.live))


def serving(script: Writer) -> BatchStep:
    """Choose everything at random: rows that join, leave, are cloned, moved or reset, rows that
    sample, and accepted tokens."""
    rng, before = script.rng, []
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.choice(["join", "leave", "clone", "swap", "reset"])
        if script.live == 0 or (kind == "join" and script.live < script.size):
            before.append(script.join())
        elif kind == "clone" and script.live < script.size:
            before.append(script.clone())
        elif kind == "leave" and script.live > 1:
            before.append(script.leave())
        elif kind == "swap":
            before.append(script.swap())
        else:
            before.append(["reset", int(rng.integers(script.live))])
    if rng.random() < 0.5:
        before += script.fill()
    sampling = rng.permutation(script.live)[: int(rng.integers(1, script.live + 1))]
    return script.step(before, sampling, varied=True)


SCRIPTS: dict[Name, Callable[[Writer], BatchStep]] = {
    "steady": steady,
    "shuffled": shuffled,
    "slots": slots,
    "condensed": condensed,
    "clones": clones,
    "serving": serving,
}


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


class Batches(NamedBlock):
    """A case for each size of the vocabulary, number of rows at once, script and seed.

    Sequences take the chains in turn; each case begins with another one. "$seed" in a chain is the
    sequence's own; every fourth has the same. families: rows of logits take them in turn.
    """

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
            self.about(f"V{n}-x{rows}-{script}-s{seed}")
            | {
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
