"""Cases on given logits: a chain, its steps, and the expected results."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.stages.operations import Operations, plan_of
from sampler_parity.harness.engines.samplers import separates_prompt
from sampler_parity.harness.inputs.chains import FileValidator, NamedChains
from sampler_parity.harness.protocol.arithmetic import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Seed, Steps, Strict, Tokens
from sampler_parity.reference.random import DEFAULT_SEED

_CLONED = (0, 0, 2)  # in turn, when it has gone on: the first, the first again, and its clone

Script = Literal["plain", "reset", "clone", "interleaved", "turns"]


class Expect(Strict):
    """Results that are known from elsewhere, checked on the reference after the last step."""

    probs: list[float] | None = None
    """probabilities, within 1e-5"""
    ids: Tokens | None = None
    """ids, in this order"""
    n: int | None = None
    """number of candidates"""
    first: int | None = None
    """id of the first candidate"""
    last: int | None = None
    """id of the last candidate"""
    token: int | None = None
    """the selected token"""
    masked: Tokens = []
    """ids whose logit is -inf"""
    allowed: Tokens = []
    """ids whose logit is above -inf"""
    kept: Tokens | None = None
    """ids that can be drawn, in any order; judges a backend by its draws alone"""


class Relation(Strict):
    """The relation of a result to another run on the same backend."""

    kind: Literal["same_as", "differs_from", "permuted", "sums_to_one"]
    """`permuted` gives the same logits to other ids; after `sums_to_one` p adds up to 1"""
    chain: ChainSpec = []
    """the other chain"""
    seed: Seed = 0
    """for `permuted`: seed of the permutation"""


class ChainCase(Case):
    """A chain and the tokens that it has accepted."""

    chain: ChainSpec = Field(default=[])
    history: Tokens = Field(default=[])
    prompt: Tokens = Field(default=[])
    """instead of `history`: tokens of the request, for samplers that separate prompt and output"""
    output: Tokens = Field(default=[])
    """instead of `history`: tokens generated since the prompt"""
    steps: Steps = 1
    vocab: str | None = None

    @model_validator(mode="after")
    def _has_one_past(self) -> "ChainCase":
        if self.history and (self.prompt or self.output):
            raise ValueError("give history, or prompt and output")
        return self

    @property
    def chains(self) -> list[ChainSpec]:
        return [self.chain]

    @property
    def past(self) -> list[int]:
        """All tokens accepted before the first step."""
        return self.history or [*self.prompt, *self.output]

    @property
    def cost(self) -> int:
        return max(self.n_draws * 16, self.logits.n * self.steps) * len(self.chain)

    @property
    def separates_prompt(self) -> bool:
        return bool(self.prompt) and any(separates_prompt(chain) for chain in self.claimed)

    def validate_input(self, validator: FileValidator, place: str) -> None:
        validator.judged(place, self.logits, self.vocab, self.named_chains)

    @property
    def named_chains(self) -> NamedChains:
        """Every chain that must be valid, by the field that it stands in."""
        return [("chain", self.chain)]


_plain: list[Step] = []  # of all cases: making them took as long as comparing them


def plain_steps(n: int) -> list[Step]:
    """Return n steps, each on the next row."""
    _plain.extend(Step(row=i) for i in range(len(_plain), n))
    return _plain[:n]


class GivenCase(ChainCase):
    """A case on given logits. dtype: the format to which the logits are rounded first."""

    dtype: Dtype = "float32"

    def plan(self) -> tuple[list[Step], int]:
        """Return the steps, and how many instances they start with."""
        return plain_steps(self.steps), 1


class StagesCase(GivenCase):
    """A chain on given logits, compared stage by stage."""

    check: ClassVar[str] = "stages"

    accept: Tokens = Field(default=[])
    """token to accept after each row, instead of the selected one"""
    script: Script = "plain"
    """how instances take the steps"""
    operations: list[Operations] = Field(default=[], max_length=limits.STAGES)
    """instead of a script: what is done with instances, as letters; each list entry has its own
    instances. `steps` is then the number of rows, which are taken in turn"""
    expect: Expect | None = None
    """results that are known from elsewhere"""
    relation: Relation | None = None
    """another run on the same backend to compare with"""

    @model_validator(mode="after")
    def _accepts_in_order(self) -> "StagesCase":
        if self.accept and (self.n_draws or self.script in ("interleaved", "turns")):
            raise ValueError("accept: not allowed with draws, or with script interleaved or turns")
        if self.operations:
            if self.accept or self.script != "plain":
                raise ValueError("operations: not allowed with accept or script")
            plan_of(self.operations, self.steps)  # raises for a missing instance
        return self

    @property
    def claimed(self) -> list[ChainSpec]:
        return [*super().claimed, self.relation.chain] if self.relation else super().claimed

    def plan(self) -> tuple[list[Step], int]:
        """Return the steps of the script, and how many instances it starts with.

        reset: half of the steps, a reset, the same rows again. clone: half of the steps, then a
        clone; both continue, in turns on the same rows. interleaved: two instances take turns.
        turns: two and their clones take uneven turns on four rows, are reset, and accept the token
        that they select, another one or none.
        """
        if self.operations:
            return plan_of(self.operations, self.steps)
        steps, instances = _plan(self)
        if self.accept:
            tokens = dict(enumerate(self.accept))
            steps = [step.model_copy(update={"accept": tokens.get(step.row)}) for step in steps]
        return steps, instances

    def validate_input(self, validator: FileValidator, place: str) -> None:
        if not self.chain:
            validator.refuse(f"{place}: chain: has no stage", "name a sampler")
        super().validate_input(validator, place)

    @property
    def named_chains(self) -> NamedChains:
        if self.relation is None or self.relation.kind == "permuted":
            return super().named_chains
        return [*super().named_chains, ("relation.chain", self.relation.chain)]


def unseeded(chain: ChainSpec) -> str:
    """Return the first sampler that draws its own seed; or ''."""
    stages = (pair for stage in chain for pair in stage.items())
    return next((name for name, parameters in stages if parameters.get("seed") == DEFAULT_SEED), "")


def _turns(n: int, n_vocab: int) -> list[Step]:
    """Return n steps; the same for every case with n. The first instance begins."""
    rng, instances, gone_on = np.random.default_rng(n), 2, {0, 1}
    steps = [Step(row=0), Step(row=1), Step(row=0, instance=1)]
    while len(steps) < n:
        before: list[tuple[Literal["reset", "clone"], int]] = []
        cloned = _CLONED[min(instances - 2, len(_CLONED) - 1)]
        if rng.random() < 0.5 and instances - 2 < len(_CLONED) and cloned in gone_on:
            before.append(("clone", cloned))
            instances, gone_on = instances + 1, set()
        if rng.random() < 0.2:
            before += [("reset", int(rng.integers(instances)))] * int(rng.integers(1, 3))
        accept: int | Literal["selected"] | None = "selected"
        if rng.random() < 0.3:
            accept = None if rng.random() < 0.5 else int(rng.integers(n_vocab))
        instance, row = int(rng.integers(instances)), len(steps) % 4
        gone_on.add(instance)
        steps.append(Step(row=row, instance=instance, before=before, accept=accept))
    return steps[:n]


def _plan(case: StagesCase) -> tuple[list[Step], int]:
    n = case.steps
    half = max(1, n // 2)
    if case.script == "reset":
        return [
            Step(row=i % half, before=[("reset", 0)] if i == half else []) for i in range(2 * half)
        ], 1
    if case.script == "clone":
        together = [
            Step(row=half + i // 2, instance=i % 2, before=[("clone", 0)] if i == 0 else [])
            for i in range(2 * (n - half) or 2)
        ]
        return plain_steps(half) + together, 1
    if case.script == "turns":
        return _turns(n, case.logits.n), 2
    if case.script == "interleaved":
        return [Step(row=i, instance=i % 2) for i in range(n)], 2
    return plain_steps(n), 1
