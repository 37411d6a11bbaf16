"""Measure the accuracy of a sampler's probabilities on every backend: harness/correct/accuracy.py.

docs/background/correct-verdicts.md explains the blocks.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.correct.accuracy import accuracy_of
from sampler_parity.harness.inputs.logits import Family, GeneratedLogits
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.messages import ChainSpec, Step
from sampler_parity.harness.strict import Size, Steps, Strict


class AccuracyOnBackend(Strict):
    """The errors of a backend over all rows, as harness/correct/accuracy.py defines them."""

    failed: str = ""
    p_median: float = 0.0
    """median error of p, ULPs of float32"""
    p_largest: float = 0.0
    """largest error of p, ULPs"""
    mass_median: float = 0.0
    """median error of a running sum of p, ULPs"""
    mass_largest: float = 0.0
    """largest error of a running sum, ULPs"""
    mass_share: float = 0.0
    """largest error of a running sum, as a share of the whole mass"""
    kept_tokens: int = 0
    """tokens kept, minus those of the exact result, in the row of `kept_share`"""
    kept_share: float = 0.0
    """exact mass of the tokens kept, minus that of the exact result; the largest in size"""


class AccuracyResult(Result):
    """A sampler on rows of one size, on every backend."""

    kind: Literal["accuracy"] = "accuracy"
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    sampler: str
    """the sampler"""
    n_vocab: int
    """tokens of the vocabulary"""
    rows: int
    """number of rows"""
    backends: dict[str, AccuracyOnBackend]


class AccuracyCase(GivenCase):
    """A sampler on rows of one size, each in the sampler's first state."""

    check: ClassVar[str] = "accuracy"

    def plan(self) -> tuple[list[Step], int]:
        begin: list[tuple[Literal["reset", "clone"], int]] = [("reset", 0)]
        return [Step(row=i, before=begin, accept=None) for i in range(self.steps)], 1


class Accuracies(NamedBlock):
    """Every chain of the file at every size. Each chain is one sampler that reports p."""

    family: Family = "normal"
    """family of the logits"""
    sizes: list[Size] = Field(min_length=1)
    """vocabulary sizes"""
    rows: Steps
    """rows of each size"""

    def items(self, shared: dict[str, ChainSpec]) -> Iterator[AccuracyCase]:
        """Yield the cases. Raises ValueError for a chain of several stages."""
        for name, chain in shared.items():
            if len(chain) != 1:
                raise ValueError(f"chains.{name}: has {len(chain)} stages; give one")
            for n in self.sizes:
                yield AccuracyCase(
                    **self.about(f"{name}-V{n}"),
                    logits=GeneratedLogits(family=self.family, n=n),
                    chain=chain,
                    steps=self.rows,
                )


def run(case: AccuracyCase, tools: Ready) -> AccuracyResult:
    """Return the figures of every backend."""
    prepared = prepare(case)
    return _result(case, {backend.name: _on(backend, prepared) for backend in tools.backends})


def died(case: AccuracyCase, terms: Terms, problem: str) -> AccuracyResult:
    """Return the record of a case that ends the process that measures it."""
    failed = AccuracyOnBackend(failed=f"crashed: {problem}")
    return _result(case, dict.fromkeys(short_names(terms.backends), failed))


def _result(case: AccuracyCase, backends: dict[str, AccuracyOnBackend]) -> AccuracyResult:
    (sampler,) = case.samplers
    return AccuracyResult(
        id=case.id, sampler=sampler, n_vocab=case.logits.n, rows=case.steps, backends=backends
    )


def _on(backend: Backend, prepared: Prepared[AccuracyCase]) -> AccuracyOnBackend:
    try:
        ran = client.run(
            backend, prepared.setting, prepared.rows, prepared.steps, whole_chain=False
        )
        results = zip(prepared.rows, ran.stages, strict=True)
        steps = ((prepared.build().samplers[0], row, got) for row, (got,) in results)
        return AccuracyOnBackend.model_validate(accuracy_of(steps))
    except BackendFailure as failure:
        return AccuracyOnBackend(failed=f"{failure.verdict}: {failure}")
