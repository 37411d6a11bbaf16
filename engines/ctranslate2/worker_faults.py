"""Faults of CTranslate2, planted between it and its worker."""

from typing import Any

from sampler_parity.engines.ctranslate2 import worker as ct2
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol.messages import ChainSpec


class _Changed(ct2.Worker):
    """Every chain runs with other parameters."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> ct2.Instance:
        return super().build([{ct2.NAME: self.changed(ct2.options_of(chain))}], n_vocab, vocab)


class TopKOneMore(_Changed):
    """One token too many is kept."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        k = options.get("sampling_topk", 1)
        return options | {"sampling_topk": k + 1 if k > 1 else k}


class NoTopP(_Changed):
    """sampling_topp has no effect."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"sampling_topp": 1.0}


class NoPenalty(_Changed):
    """The repetition penalty is dropped."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"repetition_penalty": 1.0}


class PromptNotIncluded(_Changed):
    """include_prompt_in_result is false: no token of the text counts."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"include_prompt_in_result": False}


class _OneSeed(ct2.Instance):
    def _started(self) -> Any:
        self.seed = 1
        return super()._started()


class OneSeed(ct2.Worker):
    """Every chain draws by the seed 1."""

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> ct2.Instance:
        return _OneSeed(chain)


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(f"ctranslate2/{name}", make, f"ctranslate2/{case}", "ctranslate2")


FAULTS = [
    _fault("top_k-one-more", TopKOneMore, "top_k-ties"),
    _fault("no-top_p", NoTopP, "top_p-before"),
    _fault("no-penalty", NoPenalty, "penalty-by-sign"),
    _fault("prompt-not-included", PromptNotIncluded, "ngram-two"),
    _fault("one-seed", OneSeed, "penalty-takes-numbers"),
]
