"""A case: what is run on the reference and on every backend, and what is required of it."""

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from sampler_parity.harness.backends.names import without_build
from sampler_parity.harness.checks.batch.batched import Batched
from sampler_parity.harness.engines.samplers import tells_prompt
from sampler_parity.harness.inputs.logits import Computed, Crowded, Decoded, Logits, Together
from sampler_parity.harness.protocol.dtypes import Dtype
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import STRICT, Id, Seed, Steps, Tokens
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reference.registry import ROWS

SELECT = tuple(name for name, row in ROWS.items() if row.kind == "select")

_CLONED = (0, 0, 2)  # in turn, when it has gone on: the first, the first again, and its clone

CaseKind = Literal[
    "stages", "draws", "unseeded", "kept", "streams", "batch", "generation", "sequences",
    "on_device", "logits", "invariance",
]  # fmt: skip
MEASURED: tuple[CaseKind, ...] = ("logits", "invariance")  # of which none is judged
Script = Literal["plain", "reset", "clone", "interleaved", "turns"]
Streams = Literal["same_seed", "other_seed", "reset"]


class Expect(BaseModel):
    """What is known of the result from elsewhere: checked on the reference after the last step.

    probs within 1e-5, as llama.cpp's own tests do; ids in this order; n survivors; first, last id;
    masked, allowed: ids whose logit is -inf, is not. kept: the ids that can be drawn, in any order;
    a backend is judged by what it draws, and by nothing else.
    """

    model_config = STRICT

    probs: list[float] | None = None
    ids: Tokens | None = None
    n: int | None = None
    first: int | None = None
    last: int | None = None
    token: int | None = None
    masked: Tokens = []
    allowed: Tokens = []
    kept: Tokens | None = None


class Relation(BaseModel):
    """How the result must relate to that of another run on the same backend.

    same_as: the other chain leaves the same ids, logits and token (a neutral stage).
    differs_from: the other chain leaves something else (a parameter has an effect).
    permuted: the same logits given to other ids, by this seed, keep the corresponding ids.
    sums_to_one: behind the other chain p adds up to 1.
    """

    model_config = STRICT

    kind: Literal["same_as", "differs_from", "permuted", "sums_to_one"]
    chain: ChainSpec = []
    seed: Seed = 0


class Case(BaseModel):
    """prompt, output: in place of history, for samplers that tell them apart. accept: the token of
    each row in place of the one that the chain selects. batch: in place of a chain and steps.
    dtype: the format that the logits are rounded to before anybody samples from them.
    streams: what must hold of the tokens of two chains. instead: by backend, the same job in its
    own words, where tokens alone are judged."""

    model_config = STRICT

    id: Id = Field(pattern=r"^[A-Za-z0-9_.+/=,:\-]+$")
    description: str = Field(max_length=70)
    why: str
    chain: ChainSpec = []
    logits: Logits
    history: Tokens = []
    prompt: Tokens = []
    output: Tokens = []
    accept: Tokens = []
    steps: Steps = 1
    script: Script = "plain"
    detail: Literal["stages", "token"] = "stages"
    draws: int = Field(default=0, ge=0, le=limits.DRAWS_OF_CASE)
    vocab: str | None = None
    dtype: Dtype = "float32"
    expect: Expect | None = None
    streams: Streams | None = None
    instead: dict[str, ChainSpec] = {}
    relation: Relation | None = None
    batch: Batched | None = None
    requires: dict[str, list[Verdict]] = {}
    tags: list[str] = []

    @model_validator(mode="after")
    def _accepts_in_order(self) -> "Case":
        if self.accept and (self.draws or self.script in ("interleaved", "turns")):
            raise ValueError("accept goes neither with draws nor with interleaved or turns")
        return self

    @model_validator(mode="after")
    def _has_one_past(self) -> "Case":
        if self.history and (self.prompt or self.output):
            raise ValueError("give history, or prompt and output")
        if self.draws and self.prompt:
            raise ValueError("prompt does not go with draws")
        return self

    @model_validator(mode="after")
    def _generates_plainly(self) -> "Case":
        if isinstance(self.logits, Decoded):
            self._refuse(
                "decoded", "history", "prompt", "output", "accept", "script", "draws", "vocab",
                "dtype", "expect", "relation",
            )  # fmt: skip
            last = self.samplers[-1] if self.samplers else "none"
            if last not in SELECT:
                raise ValueError(f"the last stage must select a token, {last} does not")
        if isinstance(self.logits, Together | Crowded):
            self._refuse(
                self.kind, "chain", "history", "accept", "script", "draws", "vocab", "dtype",
                "expect", "relation",
            )  # fmt: skip
        if isinstance(self.logits, Computed):
            self._refuse("computed", "script", "draws", "dtype", "expect", "relation")
            if self.steps > len(self.logits.prompt):
                raise ValueError("steps are more than the prompt has tokens")
        if self.batch is not None:
            self._refuse(
                "batched",
                *(
                    "chain",
                    "history",
                    "prompt",
                    "output",
                    "accept",
                    "steps",
                    "script",
                    "draws",
                    "expect",
                    "relation",
                ),
            )
            if isinstance(self.logits, Decoded | Computed | Together):
                raise ValueError("a batch has logits that are known before")
        return self

    @model_validator(mode="after")
    def _judges_tokens_alone(self) -> "Case":
        if self.kind not in ("kept", "streams"):
            if self.instead:
                raise ValueError("instead goes with expect.kept or streams")
            return self
        last = self.samplers[-1] if self.samplers else "none"
        if last not in ("dist", "greedy"):
            raise ValueError(f"the last stage must be dist or greedy, not {last}")
        if self.streams and self.expect:
            raise ValueError("streams does not go with expect")
        if self.draws or self.accept or self.relation or self.script != "plain":
            raise ValueError(f"{self.kind} goes with no draws, accept, relation or script")
        return self

    def _refuse(self, logits: str, *fields: str) -> None:
        allowed = {k: type(self).model_fields[k].default for k in fields} | {"chain": []}
        named = sorted(k for k in fields if getattr(self, k) != allowed[k])
        if named:
            raise ValueError(f"{named[0]} does not go with {logits} logits")

    @property
    def check(self) -> str:
        """The kind of check that it is of."""
        return "devices" if self.kind == "on_device" else self.kind

    @property
    def kind(self) -> CaseKind:
        """What is done with the case: harness/checks/KIND/run.py judges it.

        stages: every stage of every step is compared; draws: many tokens from one state; unseeded:
        a stage draws a seed for itself, so that no two chains are alike; kept: which tokens can be
        drawn; streams: the tokens of two chains; batch: many rows at once,
        each of which is compared;
        generation: a backend decodes and samples; sequences: many at once; on_device: the chain on
        logits that each backend computes; logits: these logits themselves, and invariance: how they
        depend on what is decoded beside them, which nobody judges.
        """
        if isinstance(self.logits, Decoded):
            return "generation"
        if isinstance(self.logits, Together):
            return "sequences"
        if isinstance(self.logits, Crowded):
            return "invariance"
        if isinstance(self.logits, Computed):
            return "on_device" if self.chain else "logits"
        if self.batch is not None:
            return "batch"
        if self.streams:
            return "streams"
        if self.expect and self.expect.kept is not None:
            return "kept"
        if self.unseeded:
            return "unseeded"
        return "draws" if self.draws else "stages"

    @property
    def unseeded(self) -> str:
        """The first sampler that draws a seed for itself; or ''."""
        unseeded = (name for name, given in self._stages() if given.get("seed") == DEFAULT_SEED)
        return next(unseeded, "")

    def _stages(self) -> list[tuple[str, dict[str, Any]]]:
        chains = [each.chain for each in self.batch.sequences] if self.batch else [self.chain]
        return [pair for chain in chains for stage in chain for pair in stage.items()]

    @property
    def decoded(self) -> Decoded:
        """The logits of a generation."""
        assert isinstance(self.logits, Decoded)
        return self.logits

    @property
    def computed(self) -> Computed:
        """The logits that each backend computes for itself."""
        assert isinstance(self.logits, Computed)
        return self.logits

    @property
    def together(self) -> Together:
        """The logits of many sequences."""
        assert isinstance(self.logits, Together)
        return self.logits

    @property
    def crowded(self) -> Crowded:
        """The logits of texts at several widths."""
        assert isinstance(self.logits, Crowded)
        return self.logits

    @property
    def cost(self) -> int:
        """About how many values its chain goes through; a draw costs as much as 16 of them."""
        if isinstance(self.logits, Together):
            return self.logits.n * sum(len(step.sample) for step in self.logits.script) * 4
        if self.batch is not None:
            stages = len(self._stages()) / len(self.batch.sequences)
            return int(self.logits.n * self.batch.samples * stages)
        return max(self.draws * 16, self.logits.n * self.steps) * len(self.chain)

    @property
    def past(self) -> list[int]:
        """All tokens accepted before the first step."""
        return self.history or [*self.prompt, *self.output]

    @property
    def tells_prompt(self) -> bool:
        """Whether there is a prompt and a sampler, of the related chain too, that tells it from
        the output."""
        if self.batch is not None:
            return any(each.prompt and tells_prompt(each.chain) for each in self.batch.sequences)
        related = self.relation.chain if self.relation else []
        return bool(self.prompt) and tells_prompt([*self.chain, *related])

    @property
    def samplers(self) -> list[str]:
        """Those of the chain in their order; those of many sequences each once."""
        if isinstance(self.logits, Together):
            return self.logits.samplers
        names = [name for name, _ in self._stages()]
        return list(dict.fromkeys(names)) if self.batch else names

    def chain_on(self, backend: str) -> ChainSpec:
        """The chain that a backend is asked for."""
        return self.instead.get(backend, self.instead.get(without_build(backend), self.chain))

    def required(self, backend: str) -> list[Verdict]:
        """The verdicts that pass for a backend; `identical` where nothing else is named."""
        return self.requires.get(backend, self.requires.get(without_build(backend), ["identical"]))


def plan(case: Case) -> tuple[list[Step], int]:
    """The steps of a case's script, and how many instances it starts with.

    reset: half of the steps, a reset, the same rows again. clone: half of the steps, then a clone;
    both go on, taking turns on the same rows. interleaved: two instances take turns. turns: two
    and their clones take uneven turns on four rows, are reset, and accept what they select, another
    token or none.
    """
    steps, instances = _plan(case)
    if case.accept:
        tokens = dict(enumerate(case.accept))
        steps = [step.model_copy(update={"accept": tokens.get(step.row)}) for step in steps]
    return steps, instances


def _turns(n: int, n_vocab: int) -> list[Step]:
    """n steps; the same for every case of so many. The first instance goes ahead."""
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


def _plan(case: Case) -> tuple[list[Step], int]:
    n = case.steps
    half = max(1, n // 2)
    if case.script == "reset":
        return [
            Step(row=i % half, before=[("reset", 0)] if i == half else []) for i in range(2 * half)
        ], 1
    if case.script == "clone":
        together = [
            Step(
                row=half + i // 2,
                instance=i % 2,
                before=[("clone", 0)] if i == 0 else [],
            )
            for i in range(2 * (n - half) or 2)
        ]
        return [Step(row=i) for i in range(half)] + together, 1
    if case.script == "turns":
        return _turns(n, case.logits.n), 2
    if case.script == "interleaved":
        return [Step(row=i, instance=i % 2) for i in range(n)], 2
    return [Step(row=i) for i in range(n)], 1
