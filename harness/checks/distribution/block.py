"""Blocks of a suite that test distributions. docs/background/statistics.md explains them."""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from sampler_parity.harness.backends.engines import without_build
from sampler_parity.harness.checks.distribution.record import Decision
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.inputs.chains import FileValidator, NamedChains
from sampler_parity.harness.inputs.logits import Logits
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.statistics.independence import LAGS
from sampler_parity.harness.strict import Id, Strict, Tokens


class _Cell(Strict):
    """A cell. Its chain ends in a sampler that draws; the run's seed is added to its seed.

    `law`: the chain whose distribution it must follow, if that is not its own: for a sampler that
    leaves no probabilities.
    """

    check: ClassVar[str] = "distribution"
    cost: ClassVar[float] = math.inf  # each is a portion of its own

    id: Id = Field(pattern=r"^[A-Za-z0-9_.+/=,:\-]+$")
    description: str = Field(max_length=70)
    why: str = Field(min_length=1)
    chain: ChainSpec = Field(min_length=1)
    law: ChainSpec = []
    """the chain whose distribution it must follow, if not its own"""
    logits: Logits
    history: Tokens = []
    vocab: str | None = None
    dtype: Dtype = "float32"
    requires: dict[str, list[Decision]] = {}
    """decisions that pass, by backend; default `equivalent`"""
    quick: bool = True

    def items(self, quick: bool) -> Iterator[Self]:
        """Yield the cell itself if the profile includes it."""
        if self.quick or not quick:
            yield self

    def case(self) -> StagesCase:
        """Return a case with the same chain, row and history, to prepare it."""
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
        """Return the decisions that pass; "equivalent" if nothing else is named."""
        return self.requires.get(backend, self.requires.get(without_build(backend), ["equivalent"]))

    def validate_input(self, validator: FileValidator, place: str) -> None:
        validator.judged(place, self.logits, self.vocab, self.named_chains)

    @property
    def named_chains(self) -> NamedChains:
        """Every chain that must be valid, by the field that it stands in."""
        return [("chain", self.chain), *([("law", self.law)] if self.law else [])]


class Frequency(_Cell):
    """Frequencies against the exact distribution."""

    kind: Literal["frequency"] = "frequency"
    margin: float = Field(gt=0, lt=1)
    """margin of the total variation over the bins"""
    bins: int = Field(default=0, ge=0, le=limits.VOCAB)
    """0: every token; otherwise the number of bins, by rank"""
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Coupled(_Cell):
    """Disagreements under equal uniforms."""

    kind: Literal["coupled"] = "coupled"
    margin: float = Field(gt=0, lt=1)
    """margin of their rate, and so of the total variation over all tokens"""
    ulps: float = Field(default=1.0, ge=0)
    """how far rounding may move a weight"""
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Tail(_Cell):
    """The mass of unlikely tokens."""

    kind: Literal["tail"] = "tail"
    nats: float = Field(gt=0)
    """the tail begins this far below the likeliest token"""
    factor: float = Field(default=2.0, gt=1)
    """the mass of the tail must not differ by this factor"""
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)


class Independence(_Cell):
    """Repeats at each lag, with equal and with other seeds."""

    kind: Literal["independence"] = "independence"
    margin: float = Field(gt=0, lt=1)
    """margin of the rate of repeats"""
    lags: list[Annotated[int, Field(ge=1, le=limits.TOKENS)]] = list(LAGS)
    """distances between two draws that are compared"""
    seeds: int = Field(default=200, ge=2, le=limits.VOCAB)
    """number of instances whose first draws are tested"""


class Injected(_Cell):
    """Extreme uniforms: impossible tokens must not appear."""

    kind: Literal["injected"] = "injected"
    uniforms: list[float] = [0.0, -0.0, 2.0**-32, 2.0**-24, 0.5, 1 - 2.0**-24, 1 - 2.0**-53, 1.0]
    """the uniforms to inject"""


class Speculative(_Cell):
    """Rounds of speculative sampling: the tokens of a round, and their number."""

    kind: Literal["speculative"] = "speculative"
    rule: Literal["rejection", "matching"]
    """`rejection` of the drafted tokens, or `matching` them with sampled tokens"""
    draft: Logits
    """rows that the drafts are drawn from"""
    draft_chain: ChainSpec = Field(min_length=1)
    """chain that draws the drafts; it does not look at the history"""
    stated: ChainSpec = []
    """chain whose probabilities the backend gets as those of the drafts, if not `draft_chain`"""
    drafted: int = Field(ge=1, le=8)
    """drafted tokens of a round"""
    margin: float = Field(gt=0, lt=1)
    """margin of the total variation over the bins"""
    bins: int = Field(default=0, ge=0, le=limits.VOCAB)
    """0: every possible round; otherwise bins of the last token for each length, by rank"""
    max_draws: int = Field(default=1 << 32, gt=0, le=limits.DRAWS)

    def validate_input(self, validator: FileValidator, place: str) -> None:
        if self.draft.n != self.logits.n:
            problem = f"{place}: draft: {self.draft.n} tokens, the target has {self.logits.n}"
            validator.refuse(problem, "give both the same vocabulary")
        super().validate_input(validator, place)

    @property
    def named_chains(self) -> NamedChains:
        return [*super().named_chains, ("draft_chain", self.draft_chain)]


Cell = Frequency | Coupled | Tail | Independence | Injected | Speculative
