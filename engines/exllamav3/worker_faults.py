"""Faults of ExLlamaV3's worker and of its steps."""

from typing import Any

from sampler_parity.engines.exllamav3 import worker
from sampler_parity.engines.exllamav3.engine import exllamav3
from sampler_parity.harness.faults.engine_faults import Fault


class TopKOneMore(worker.Worker):
    """One token too many is kept."""

    def __init__(self) -> None:
        steps = exllamav3().steps
        original = steps.SS_TopK
        steps.SS_TopK = lambda k: original(k + 1 if k > 0 else k)


class CrossingLeftOut(worker.Worker):
    """The token that crosses top-p goes, too."""

    def __init__(self) -> None:
        steps = exllamav3().steps

        def run(step: Any, state: Any) -> None:
            mask = state.probs.cumsum(dim=-1) < step.top_p
            state.probs[..., 1:] *= mask[..., 1:]
            state.state = steps.SS.PROBS_S

        steps.SS_TopP.run = run


class NotNormalized(worker.Worker):
    """The survivors of a filter are not normalized for the next."""

    def __init__(self) -> None:
        steps = exllamav3().steps
        original = steps.SS_TopK.run

        def run(step: Any, state: Any) -> None:
            whole = state.logits.softmax(-1)
            original(step, state)
            state.probs = whole * (state.logits > -float("inf"))
            state.state = steps.SS.PROBS_N_S

        steps.SS_TopK.run = run


class TemperatureFirst(worker.Worker):
    """The temperature is put in front of the filters."""

    def build(self, chain: Any, n_vocab: int, vocab: str | None) -> Any:
        first = [stage for stage in chain if "temp" in stage]
        return super().build(first + [of for of in chain if "temp" not in of], n_vocab, vocab)


class RanksAreIds(worker.Worker):
    """The index of the sorted row is taken for the token."""

    def __init__(self) -> None:
        steps = exllamav3().steps
        steps.SS_Argmax.run = lambda step, state: setattr(
            state, "sample", state.logits.argmax(dim=-1)
        )


class AlwaysExcludes(worker.Worker):
    """XTC does what it does with probability 1."""

    def __init__(self) -> None:
        steps = exllamav3().steps
        original = steps.SS_XTC
        steps.SS_XTC = lambda _probability, threshold: original(1.0, threshold)


FAULTS = [
    Fault("exllamav3/xtc-always", AlwaysExcludes, case="combo/xtc-mean", stage="exllamav3_xtc"),
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
