"""A case on the reference: made concrete, run, and traced stage by stage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar

from sampler_parity.harness.checks.stages.block import GivenCase, StagesCase
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.inputs.chains import breakers_as_tokens, complete
from sampler_parity.harness.inputs.logits import Literals, Logits
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Dtype, rounded
from sampler_parity.harness.protocol.client import RunCall, Setting, Settles
from sampler_parity.reference import Candidates, Chain, UndefinedInputError, Vocab, floats
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP

Trace = list[list[Candidates]]


C = TypeVar("C", bound=GivenCase, default=StagesCase)


@dataclass(frozen=True)
class Prepared(Generic[C]):
    """A case made concrete: rows, steps, and the completed chain."""

    case: C
    chain: p.ChainSpec
    rows: list[np.ndarray[Any, np.dtype[np.float32]]]
    steps: list[p.Step]
    instances: int
    vocab: Vocab | None
    vocab_file: str | None
    samplers: Mapping[str, Callable[..., Sampler]] = field(default_factory=lambda: ALL_SAMPLERS)

    @property
    def setting(self) -> Setting:
        """The setting of a request to a backend."""
        # without a sampler that separates it, the prompt is part of the history
        n_prompt = len(self.case.prompt) if self.case.separates_prompt else 0
        return Setting(
            self.chain,
            self.case.logits.n,
            self.vocab_file,
            self.case.past,
            n_prompt=n_prompt,
            dtype=self.case.dtype,
            in_tokens=breakers_as_tokens(self.chain, self.vocab) if self.vocab else [],
        )

    def run(self, steps: int, settles: Settles | None = None) -> RunCall:
        """Return the run of the first steps on a backend."""
        how = (self.instances, self.case.detail)
        return RunCall(self.setting, self.rows, self.steps[:steps], *how, settles=settles)

    def build(self) -> Chain:
        """Build a chain that has accepted prompt and output, or the history."""
        chain = build_chain(
            self.chain, n_vocab=self.case.logits.n, vocab=self.vocab, samplers=self.samplers
        )
        for token in self.case.prompt:
            chain.accept_prompt(token)
        for token in self.case.history or self.case.output:
            chain.accept(token)
        return chain


def prepare(case: C) -> Prepared[C]:
    """Prepare a case. Raises InputError for a bad fixture."""
    path = vocab_path(case.vocab) if case.vocab else None
    vocab = read_vocab(path) if path else None
    steps, instances = case.plan()
    return Prepared(
        case=case,
        chain=complete(case.chain, case.logits.n),
        rows=rows_of(case.logits, case.dtype, 1 + max(step.row for step in steps)),
        steps=steps,
        instances=instances,
        vocab=vocab,
        vocab_file=str(path) if path else None,
    )


@floats.quiet
def rows_of(
    logits: Logits, dtype: Dtype, count: int
) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the rows to sample from: the first rows of the logits, rounded to the format."""
    if isinstance(logits, Literals):  # the same at every step
        return [rounded(logits.row(0), dtype)] * count
    return [rounded(logits.row(i), dtype) for i in range(count)]


@floats.quiet
def reference_trace(prepared: Prepared[Any]) -> tuple[Trace, str]:
    """Return the candidates after each stage of each step, and why it stopped early, or ""."""
    trace: Trace = []
    try:
        instances = [prepared.build() for _ in range(prepared.instances)]
        for step in prepared.steps:
            trace.append(reference_step(prepared, instances, step))
    except UndefinedInputError as error:
        return trace, str(error)
    return trace, ""


def reference_step(
    prepared: Prepared[Any], instances: list[Chain], step: p.Step
) -> list[Candidates]:
    chain, cand = begin(prepared, instances, step)
    if prepared.case.detail == "token":
        chain.apply(cand)
        stages = [cand]
    else:
        stages = [stage.candidates for stage in chain.trace(cand)]
    accepted = cand.token if step.accept == "selected" else step.accept
    if accepted is not None:
        chain.accept(accepted)
    return stages


def begin(
    prepared: Prepared[Any], instances: list[Chain], step: p.Step
) -> tuple[Chain, Candidates]:
    """Do the operations before the step; return its chain and its fresh candidates."""
    for operation, index in step.before:
        if operation == "reset":
            instances[index].reset()
        else:
            instances.append(instances[index].clone())
    return instances[step.instance], Candidates.from_logits(prepared.rows[step.row])


def state_before(
    prepared: Prepared[Any], at_step: int, at_stage: int
) -> tuple[Candidates, Sampler]:
    """Return the input of a stage and its sampler in its state then, by running again."""
    instances = [prepared.build() for _ in range(prepared.instances)]
    for step in prepared.steps[:at_step]:
        reference_step(prepared, instances, step)
    chain, cand = begin(prepared, instances, prepared.steps[at_step])
    for sampler in chain.samplers[:at_stage]:
        sampler.apply(cand)
    return cand, chain.samplers[at_stage]


def as_it_is(sampler: Sampler) -> Sampler:
    """Return the sampler as it is before its stage. In a release without cloning only dry is
    affected, which changes only as it accepts."""
    try:
        earlier = sampler.clone()
    except UndefinedInputError:
        return sampler
    if isinstance(sampler, AdaptiveP):  # its clone begins its random stream again
        earlier.rng = sampler.rng.clone()  # type: ignore[attr-defined]
    return earlier
