"""Faults of ExLlamaV3's worker and of its steps."""

from typing import Any

from sampler_parity.harness.backends import exllamav3
from sampler_parity.harness.mutants.engines import Fault


class TopKOneMore(exllamav3.Worker):
    """One token too many is kept."""

    def __init__(self) -> None:
        _, steps = exllamav3.libraries()
        original = steps.SS_TopK
        steps.SS_TopK = lambda k: original(k + 1 if k > 0 else k)


class CrossingLeftOut(exllamav3.Worker):
    """The token that crosses top-p goes, too."""

    def __init__(self) -> None:
        _, steps = exllamav3.libraries()

        def run(step: Any, state: Any) -> None:
            mask = state.probs.cumsum(dim=-1) < step.top_p
            state.probs[..., 1:] *= mask[..., 1:]
            state.state = steps.SS.PROBS_S

        steps.SS_TopP.run = run


class NotNormalized(exllamav3.Worker):
    """What a filter left is not normalized for the next."""

    def __init__(self) -> None:
        _, steps = exllamav3.libraries()
        original = steps.SS_TopK.run

        def run(step: Any, state: Any) -> None:
            whole = state.logits.softmax(-1)
            original(step, state)
            state.probs = whole * (state.logits > -float("inf"))
            state.state = steps.SS.PROBS_N_S

        steps.SS_TopK.run = run


class TemperatureFirst(exllamav3.Worker):
    """The temperature is put in front of the filters."""

    def build(self, chain: Any, n_vocab: int, vocab: str | None) -> Any:
        first = [stage for stage in chain if "temp" in stage]
        return super().build(first + [of for of in chain if "temp" not in of], n_vocab, vocab)


class RanksAreIds(exllamav3.Worker):
    """The index of the sorted row is taken for the token."""

    def __init__(self) -> None:
        _, steps = exllamav3.libraries()
        steps.SS_Argmax.run = lambda step, state: setattr(
            state, "sample", state.logits.argmax(dim=-1)
        )


FAULTS = [
    Fault("exllamav3/top-k-one-more", TopKOneMore, case="steps/top_k", stage="top_k"),
    Fault("exllamav3/crossing-left-out", CrossingLeftOut, case="steps/top_p", stage="top_p"),
    Fault(
        "exllamav3/not-normalized",
        NotNormalized,
        case="steps/top_p-of-what-is-left",
        stage="top_p",
    ),
    Fault(
        "exllamav3/temperature-first",
        TemperatureFirst,
        case="order/top_p-before-temp",
        stage="order",
    ),
    Fault("exllamav3/ranks-are-ids", RanksAreIds, case="steps/greedy", stage="greedy"),
]
