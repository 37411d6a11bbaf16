"""Blocks of a suite that test distributions. docs/background/statistics.md explains them."""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from sampler_parity.harness.backends.names import without_build
from sampler_parity.harness.checks.distribution.record import CellKind, Decision
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.inputs.logits import Logits
from sampler_parity.harness.protocol.dtypes import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.statistics.independence import LAGS
from sampler_parity.harness.strict import Id, Strict, Tokens


class _Cell(Strict):
    """chain ends in a sampler that draws; its seed is moved by the run's.

    law: the chain whose law it must follow, if that is not its own: for a sampler that leaves no
    probabilities behind.
    """

    check: ClassVar[str] = "distribution"
    cost: ClassVar[float] = math.inf  # each is a portion of its own

    id: Id = Field(pattern=r"^[A-Za-z0-9_.+/=,:\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    chain: ChainSpec = Field(min_length=1)
    law: ChainSpec = []
    logits: Logits
    history: Tokens = []
    vocab: str | None = None
    dtype: Dtype = "float32"
    requires: dict[str, list[Decision]] = {}
    quick: bool = True

    def items(self, quick: bool) -> Iterator[Self]:
        """Itself, where the profile takes it."""
        if self.quick or not quick:
            yield self

    def case(self) -> StagesCase:
        """The same chain, row and history as a case, to prepare it."""
        return StagesCase(
            id=self.id,
            description=self.description,
            why=self.why,
            chain=self.chain,
            logits=self.logits,
            history=self.history,
            vocab=self.vocab,
            dtype=self.dtype,
        )

    @property
    def samplers(self) -> list[str]:
        return self.case().samplers

    def required(self, backend: str) -> list[Decision]:
        """The decisions that pass; "equivalent" where nothing else is named."""
        return self.requires.get(backend, self.requires.get(without_build(backend), ["equivalent"]))


class Frequency(_Cell):
    """Frequencies against the exact law. bins = 0: every token; else so many, by rank.

    margin: of the total variation over the bins. max_draws: stop there, decided or not.
    """

    kind: Literal["frequency"] = "frequency"
    margin: float = Field(gt=0, lt=1)
    bins: int = Field(default=0, ge=0, le=limits.VOCAB)
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Coupled(_Cell):
    """Disagreements under equal uniforms. margin: of their rate, and so of the total variation over
    all tokens. ulps: by how much rounding may move a weight."""

    kind: Literal["coupled"] = "coupled"
    margin: float = Field(gt=0, lt=1)
    ulps: float = Field(default=1.0, ge=0)
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Tail(_Cell):
    """Tokens at least `nats` below the likeliest. factor: that their mass must not be off by."""

    kind: Literal["tail"] = "tail"
    nats: float = Field(gt=0)
    factor: float = Field(default=2.0, gt=1)
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Independence(_Cell):
    """Repeats at each lag, equal and other seeds. margin: of the rate of repeats. seeds: how many
    instances are made to test their first draws."""

    kind: Literal["independence"] = "independence"
    margin: float = Field(gt=0, lt=1)
    lags: list[Annotated[int, Field(ge=1, le=limits.TOKENS)]] = list(LAGS)
    seeds: int = Field(default=200, ge=2, le=limits.VOCAB)


class Injected(_Cell):
    """Extreme uniforms put in by hand: impossible tokens must not come out."""

    kind: Literal["injected"] = "injected"
    uniforms: list[float] = [0.0, -0.0, 2.0**-32, 2.0**-24, 0.5, 1 - 2.0**-24, 1 - 2.0**-53, 1.0]


class Speculative(_Cell):
    """Rounds of speculative sampling: the tokens that come of them, and how many.

    chain: of the target; logits: its rows, one a position. draft: the rows that the drafts are
    drawn from, through draft_chain, which does not look at the history. bins = 0: every round that
    can come out; else of each length so many bins of its last token, by rank, for chains that do
    not look at the history. margin: of the total variation over the bins.
    """

    kind: Literal["speculative"] = "speculative"
    rule: Literal["rejection", "matching"]
    draft: Logits
    draft_chain: ChainSpec = Field(min_length=1)
    drafted: int = Field(ge=1, le=8)
    margin: float = Field(gt=0, lt=1)
    bins: int = Field(default=0, ge=0, le=limits.VOCAB)
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


Cell = Frequency | Coupled | Tail | Independence | Injected | Speculative
KINDS: tuple[CellKind, ...] = (
    "frequency", "coupled", "tail", "independence", "injected", "speculative"
)  # fmt: skip
