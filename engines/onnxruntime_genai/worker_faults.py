"""Faults of ONNX Runtime GenAI, planted between it and its worker."""

from typing import Any

from sampler_parity.engines.onnxruntime_genai import worker as genai
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol.messages import ChainSpec


class _Changed(genai.Worker):
    """Every chain runs with other search options."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> genai.Instance:
        options = self.changed(genai.options_of(chain))
        return super().build([{genai.NAME: options}], n_vocab, vocab)


class AlwaysDraws(_Changed):
    """do_sample is always true."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"do_sample": True}


class TopKOneMore(_Changed):
    """One token too many is kept."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"top_k": options["top_k"] + 1} if options.get("top_k", 0) > 1 else options


class NoTopP(_Changed):
    """top_p is dropped next to a top_k."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"top_p": 0.0} if options.get("top_k", 0) > 1 else options


class NoPenalty(_Changed):
    """The repetition penalty is dropped."""

    def changed(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"repetition_penalty": 1.0}


class _LosesText(genai.Instance):
    def accept(self, token: int) -> None:
        self.text = [token]


class LosesText(genai.Worker):
    """Only the last token of the text is kept."""

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> genai.Instance:
        return _LosesText(chain, n_vocab)


def _fault(name: str, make: Any, case: str) -> Fault:
    return Fault(
        f"onnxruntime_genai/{name}", make, f"onnxruntime_genai/{case}", "onnxruntime_genai"
    )


FAULTS = [
    _fault("always-draws", AlwaysDraws, "greedy-by-default"),
    _fault("top_k-one-more", TopKOneMore, "top_k-ties"),
    _fault("no-top_p", NoTopP, "top_p-reached"),
    _fault("no-penalty", NoPenalty, "penalty-by-sign"),
    _fault("loses-text", LosesText, "ngram-two"),
]
