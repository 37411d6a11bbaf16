"""node-llama-cpp's sampler, wrong in one way each."""

from sampler_parity.engines.node_llama_cpp.model import NodeLlamaCpp
from sampler_parity.engines.shared import orders
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.xtc import Xtc


class TemperatureFirst(orders.TemperatureFirst, NodeLlamaCpp):
    pass


class TopPBeforeTopK(orders.TopPBeforeTopK, NodeLlamaCpp):
    pass


class NewestAlone(NodeLlamaCpp):
    """Only the newest token is penalized."""

    def accept(self, token: int) -> None:
        for sampler in self.samplers:
            sampler.reset()
        super().accept(token)


class GreedyAlone(NodeLlamaCpp):
    """At temperature 0 there is no XTC."""

    def apply(self, cand: Candidates) -> None:
        self.samplers = [of for of in self.samplers if not isinstance(of, Xtc)]
        super().apply(cand)


MUTANTS = [
    Mutant(f"node_llama_cpp/{name}", make, case=f"node_llama_cpp/{case}")
    for name, make, case in [
        ("temperature-first", TemperatureFirst, "temperature-last"),
        ("top_p-before-top_k", TopPBeforeTopK, "top_k-before-top_p"),
        ("newest-alone", NewestAlone, "window-is-the-text"),
        ("greedy-alone", GreedyAlone, "greedy-behind-xtc"),
    ]
]
