"""The logits of a case: families made from a seed, literals, golden fixtures."""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.models import n_vocab_of
from sampler_parity.harness.protocol.sequences import SequencesStep, Text, check_script
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Seed, Size, Strict, Tokens
from sampler_parity.reference import floats

Row = NDArray[np.float32]
_FEW = 64


def _zipf(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Make log-probabilities that fall as a power of the rank, like a language model's,
    shuffled."""
    return rng.permutation(12 - 1.2 * np.log(np.arange(1, n + 1))) + rng.normal(0, 0.05, n)


def _peaked(rng: np.random.Generator, n: int) -> NDArray[Any]:
    x = rng.normal(0, 1, n)
    x[rng.integers(n)] += 12
    x[rng.integers(n)] += 9
    return x


def _masked(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Ban half of the tokens, but not all."""
    x = np.where(rng.random(n) < 0.5, -np.inf, rng.normal(0, 3, n))
    x[rng.integers(n)] = rng.normal(0, 3)
    return x


def _one(rng: np.random.Generator, n: int) -> NDArray[Any]:
    x = np.full(n, -np.inf)
    x[rng.integers(n)] = rng.normal(0, 3)
    return x


def _bimodal(rng: np.random.Generator, n: int) -> NDArray[Any]:
    return np.where(rng.random(n) < 0.5, rng.normal(-6, 1, n), rng.normal(4, 1, n))


Family = Literal[
    "normal", "zipf", "peaked", "flat", "bimodal", "ties", "equal", "masked", "negative", "wide",
    "huge", "tiny", "one",
]  # fmt: skip
FAMILIES: dict[str, Callable[[np.random.Generator, int], NDArray[Any]]] = {
    "normal": lambda rng, n: rng.normal(0, 3, n),
    "zipf": _zipf,
    "peaked": _peaked,
    "flat": lambda rng, n: rng.uniform(-0.01, 0.01, n),
    "bimodal": _bimodal,
    "ties": lambda rng, n: np.round(rng.normal(0, 2, n) * 2) / 2,
    "equal": lambda rng, n: np.full(n, 1.5),
    "masked": _masked,
    "negative": lambda rng, n: -1 - np.abs(rng.normal(0, 4, n)),
    "wide": lambda rng, n: rng.normal(0, 25, n),
    "huge": lambda rng, n: rng.normal(0, 1, n) * 2e37,
    "tiny": lambda rng, n: rng.normal(0, 1, n) * 1e-39,
    "one": _one,
}


class Literals(Strict):
    """The same values at every step: logits, or probabilities whose float32 logarithm is taken."""

    values: list[float] = Field(default=[], max_length=limits.VOCAB)
    """logits of every step"""
    probs: list[float] = Field(default=[], max_length=limits.VOCAB)
    """instead of `values`: probabilities, of which the float32 logarithm is taken"""

    @model_validator(mode="after")
    def _one_of_both(self) -> "Literals":
        if bool(self.values) == bool(self.probs):
            raise ValueError("give either values or probs")
        return self

    @property
    def n(self) -> int:
        return len(self.values) or len(self.probs)

    def row(self, step: int) -> Row:
        if self.values:
            return np.array(self.values, np.float32)
        probs = np.array(self.probs, np.float32)
        if len(probs) <= _FEW:
            return floats.log_of_few(probs)
        with np.errstate(divide="ignore"):
            return floats.log(probs)  # type: ignore[no-any-return]


class LiteralRows(Strict):
    """Other values at every step, in turn, as in a minimized counterexample."""

    rows: list[list[float]] = Field(min_length=1)
    """one row for each step, in turn"""

    @model_validator(mode="after")
    def _same_length(self) -> "LiteralRows":
        if len({len(row) for row in self.rows}) != 1 or not self.rows[0]:
            raise ValueError("rows must be equally long and not empty")
        return self

    @property
    def n(self) -> int:
        return len(self.rows[0])

    def row(self, step: int) -> Row:
        return np.array(self.rows[step % len(self.rows)], np.float32)


class GeneratedLogits(Strict):
    """A family at a vocabulary size; every step has other values, made from (seed, step)."""

    family: Family
    n: Size
    """tokens of a row"""
    seed: Seed = 0

    def row(self, step: int) -> Row:
        return _generate(self.family, self.n, self.seed, step)


class Mixed(Strict):
    """Each row of the next family, in turn: the rows of a batch, one masked, one flat."""

    families: list[Family] = Field(min_length=1)
    """families that the rows take in turn"""
    n: Size
    """tokens of a row"""
    seed: Seed = 0

    def row(self, step: int) -> Row:
        return _generate(self.families[step % len(self.families)], self.n, self.seed, step)


class LogOfId(Strict):
    """logit = log(id): the queue vectors of llama.cpp's tests/test-sampling.cpp."""

    log_of_id: Size
    """number of tokens"""

    @property
    def n(self) -> int:
        return self.log_of_id

    def row(self, step: int) -> Row:
        with np.errstate(divide="ignore"):
            return floats.log(np.arange(self.n, dtype=np.float32))  # type: ignore[no-any-return]


class Rungs(Strict):
    """A row in which only a few tokens are likely, near powers of two or at the end."""

    rungs: Size
    """number of tokens"""
    counts: Tokens = []
    """how many of the last tokens are likely, step by step; none: ids near powers of two"""
    seed: Seed = 0

    @property
    def n(self) -> int:
        return self.rungs

    def row(self, step: int) -> Row:
        count = self.counts[step % len(self.counts)] if self.counts else None
        return _rungs(self.rungs, count, self.seed, step)


class Golden(Strict):
    """Rows of a golden fixture, from `row` on; wraps around at its end."""

    golden: str
    """name of a golden fixture"""
    row_at: int = Field(default=0, ge=0, le=limits.WHOLE, alias="row")
    """the first row to use"""

    @property
    def n(self) -> int:
        return int(fixtures.load(self.golden).shape[1])

    def row(self, step: int) -> Row:
        rows = fixtures.load(self.golden)
        row: Row = rows[(self.row_at + step) % len(rows)].astype(np.float32)
        return row


class _OfBackend(Strict):
    def row(self, step: int) -> Row:
        raise ValueError(f"the logits of step {step} come from the backend that decodes")


class DecodedLogits(_OfBackend):
    """Logits that a backend decodes as it generates: after a prompt, then after each drawn
    token."""

    decoded: str
    """name or path of the model"""
    prompt: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)

    @property
    def n(self) -> int:
        return n_vocab_of(self.decoded)


class Computed(_OfBackend):
    """Logits that a backend's device computes after the last tokens of a prompt."""

    computed: str
    """name or path of the model"""
    prompt: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    keep: bool = False
    """the bundle keeps the last row"""

    @property
    def n(self) -> int:
        return n_vocab_of(self.computed)


class Together(_OfBackend):
    """Logits that a backend decodes for many sequences in one context."""

    together: str
    """name or path of the model"""
    slots: Size
    """number of sequences of the context"""
    texts: dict[str, Text] = Field(min_length=1)
    """texts by name"""
    script: list[SequencesStep] = Field(min_length=1)
    """the steps, as in the request `sequences`"""
    threads: Size = 1
    """how many threads sample at once"""
    alone: bool = False
    """also decode each text on its own"""

    @model_validator(mode="after")
    def _can_be_followed(self) -> "Together":
        check_script(self.slots, len(self.texts), self.script)
        return self

    @property
    def n(self) -> int:
        return n_vocab_of(self.together)

    @property
    def samplers(self) -> list[str]:
        """Return the samplers of all chains, each once."""
        chains = (text.chain for text in self.texts.values())
        return list(dict.fromkeys(name for chain in chains for stage in chain for name in stage))


class Crowded(_OfBackend):
    """Logits that a backend decodes for texts on their own and in batches."""

    crowded: str
    """name or path of the model"""
    texts: list[list[Annotated[int, Field(ge=0)]]] = Field(min_length=1)
    """texts of equal length; the backend gets all tokens"""
    widths: list[Size] = Field(min_length=1)
    """how many texts are decoded at once"""

    @model_validator(mode="after")
    def _same_length(self) -> "Crowded":
        if len({len(text) for text in self.texts}) != 1 or not self.texts[0]:
            raise ValueError("texts must be equally long and not empty")
        return self

    @property
    def n(self) -> int:
        return n_vocab_of(self.crowded)


Logits = Annotated[
    Literals
    | LiteralRows
    | GeneratedLogits
    | Mixed
    | LogOfId
    | Rungs
    | Golden
    | DecodedLogits
    | Computed
    | Together
    | Crowded,
    Field(union_mode="smart"),
]


def _generate(family: Family, n: int, seed: int, step: int) -> Row:
    make = _short if n <= _SHORT else _long
    return make(family, n, seed, step)


@floats.quiet
def _made(family: Family, n: int, seed: int, step: int) -> Row:
    rng = np.random.default_rng([seed, step, n, sorted(FAMILIES).index(family)])
    row = FAMILIES[family](rng, n).astype(np.float32)
    row.flags.writeable = False
    return row


# Many cases have the same short rows: 16 MB of them at most.
_SHORT = 1024
_short = functools.lru_cache(maxsize=4096)(_made)
_long = functools.lru_cache(maxsize=48)(_made)


@functools.lru_cache(maxsize=48)
def _rungs(n: int, count: int | None, seed: int, step: int) -> Row:
    """Make likely logits from 0 to 8, so that all of them and no others are within 1e-4 of the
    likeliest; they grow with the id."""
    row = np.linspace(-12, -16, n).astype(np.float32)
    if count is None:
        powers = 2 ** np.arange(21)
        ids = np.unique([powers - 1, powers, powers + 1])
        ids = ids[ids < n]
    else:
        ids = np.arange(n - count, n)
    rng = np.random.default_rng([seed, step, n])
    row[ids] = np.sort(rng.normal(4, 1.5, len(ids)).clip(0, 8))
    row.flags.writeable = False
    return row
