"""A mutant as a backend: `python -m sampler_parity.harness.backends.worker mutant NAME`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.engines.samplers import replaced
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference import Candidates


class MutantInstance(reference.ReferenceInstance):
    """Gives a clone its faulty class back: the reference's clone of a mutant is right."""

    def clone(self) -> "MutantInstance":
        twin = self.chain.clone()
        for faulty, copied in zip(self.chain.samplers, twin.samplers, strict=True):
            copied.__class__ = type(faulty)
        if type(twin) is not type(self.chain):
            twin = type(self.chain)(twin.samplers)
        return MutantInstance(twin)


class Worker(reference.Worker):
    """The reference with one sampler, or the chain, replaced. of: a fault, or its name. kind:
    candidates with another order of equal ones. reports_sorted: whether they state that they are
    sorted. Raises InputError for a bad name."""

    def __init__(
        self, of: str | Mutant, kind: type[Candidates] = Candidates, reports_sorted: bool = True
    ) -> None:
        self.kind, self.reports_sorted = kind, reports_sorted
        if isinstance(of, str) and of not in MUTANTS:
            raise InputError(f"mutant {of!r}", "unknown", "`sampler-parity selftest` lists them")
        self.mutant = MUTANTS[of] if isinstance(of, str) else of
        if self.mutant.sampler == "batch":
            self.serving = self.mutant.make
        elif self.mutant.sampler != "chain":
            self.samplers = replaced(self.mutant.sampler, self.mutant.make)

    def hello(self) -> HelloReply:
        return super().hello().model_copy(update={"name": f"mutant/{self.mutant.name}"})

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> MutantInstance:
        built = super().build(chain, n_vocab, vocab).chain
        if self.mutant.sampler == "chain":
            built = self.mutant.make(built.samplers)
        return MutantInstance(built)

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        return self.kind.from_logits(logits)

    def result(self, candidates: Candidates) -> tuple[Any, Any, Any, bool | None, int]:
        ids, logits, p, is_sorted, selected = super().result(candidates)
        return ids, logits, p, is_sorted if self.reports_sorted else None, selected
