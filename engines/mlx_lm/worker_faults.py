"""Faults of MLX LM, planted in its module and in the worker."""

from collections.abc import Callable
from typing import Any

from sampler_parity.engines.mlx_lm import worker
from sampler_parity.engines.mlx_lm.engine import generation, libraries
from sampler_parity.engines.shared.reported_faults import faults_of_logprobs
from sampler_parity.harness.faults.engine_faults import Fault


class TopPByPosition(worker.Worker):
    """top_p cuts by position: of equal tokens some go."""

    def __init__(self) -> None:
        mx, mlx = libraries()

        def by_position(logprobs: Any, top_p: float) -> Any:
            order = mx.argsort(-logprobs, axis=-1)
            p = mx.exp(mx.take_along_axis(logprobs, order, axis=-1))
            gone = mx.cumsum(p, axis=-1, inclusive=False) >= top_p
            cut = mx.where(gone, -mx.inf, mx.take_along_axis(logprobs, order, axis=-1))
            return mx.put_along_axis(mx.zeros_like(logprobs), order, cut, axis=-1)

        mlx.apply_top_p = by_position


class MinPWithoutLog(worker.Worker):
    """min_p itself is added to the largest log-probability, not its logarithm."""

    def __init__(self) -> None:
        mx, mlx = libraries()

        def without_log(logprobs: Any, min_p: float, least: int = 1) -> Any:
            top = mx.max(logprobs, axis=-1, keepdims=True)
            return mx.where(logprobs < top + min_p, -mx.inf, logprobs)

        mlx.apply_min_p = without_log


class TemperatureTwice(worker.Worker):
    """The draw divides by the temperature twice."""

    def __init__(self) -> None:
        _, mlx = libraries()
        original: Callable[[Any, float], Any] = mlx.categorical_sampling
        mlx.categorical_sampling = lambda scores, temp: original(scores * (1.0 / temp), temp)


class KeyStays(worker.Worker):
    """The key is not split: every draw has the same numbers."""

    def __init__(self) -> None:
        worker.Stage.keep_key = lambda stage: None  # type: ignore[assignment, method-assign]


class PresenceEach(worker.Worker):
    """The presence penalty is subtracted for every occurrence."""

    def __init__(self) -> None:
        _, mlx = libraries()
        mlx.make_presence_penalty = mlx.make_frequency_penalty


FAULTS = [
    Fault("mlx_lm/top_p-by-position", TopPByPosition, "sampler/top_p-keeps-ties", "mlx_sampler"),
    Fault("mlx_lm/min_p-without-log", MinPWithoutLog, "filters/min_p", "min_p"),
    Fault("mlx_lm/temperature-twice", TemperatureTwice, "sampler/model/small-r0", "mlx_sampler"),
    Fault(
        "mlx_lm/key-stays", KeyStays, "sampler/filters/normal-V129-s0-plain-plain", "mlx_sampler"
    ),
    Fault("mlx_lm/presence-each", PresenceEach, "penalties/presence-once", "mlx_penalties"),
    *faults_of_logprobs("mlx_lm", worker.Worker, generation),
]
