"""keras_hub: how a stage drives a sampler of KerasHub, with a stub in its place."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.keras_hub import worker
from sampler_parity.engines.keras_hub.worker import Stage
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.engines.shared.whole_chains import Row
from sampler_parity.harness.errors import InputError, Unsupported


class State:
    """A variable of Keras, as far as it is used."""

    def __init__(self, value: list[int]) -> None:
        self.value = value

    def assign(self, value: Any) -> None:
        self.value = list(getattr(value, "value", value))


class Sampler:
    """Draws one of two tokens with NumPy's choice, the likelier first."""

    def __init__(self, seed: int = 0, k: int = 2) -> None:
        if k < 1:
            raise ValueError("k is too small")
        self.variables = [State([seed, 0])]

    def __call__(self, model: Any, prompt: Any, index: int) -> Any:
        for at in range(index, prompt.shape[1]):
            logits, _, _ = model(prompt, None, at)
            _, ids = worker.keras_hub().ops.top_k(logits, 2)
            seed, count = self.variables[0].value
            self.variables[0].value = [seed, count + 1]
            rng = np.random.default_rng([seed, count])
            prompt[0, at] = ids[0][rng.choice(np.arange(2), size=1, p=np.array([1.0, 0.0]))[0]]
        return prompt


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    names = ("GreedySampler", "RandomSampler", "TopKSampler", "TopPSampler")
    ops = SimpleNamespace(top_k=lambda x, k: (np.sort(x)[:, ::-1], np.argsort(x)[:, ::-1][:, :k]))
    engine = SimpleNamespace(samplers=SimpleNamespace(**dict.fromkeys(names, Sampler)), ops=ops)
    monkeypatch.setattr(worker, "keras_hub", lambda: engine)
    return engine


def test_p_is_shown_at_the_ids_that_top_k_took(stub: SimpleNamespace) -> None:
    row = Row(np.array([1, 3, 2], np.float32))
    original = stub.ops.top_k, np.random.default_rng
    Stage("keras_hub_top_k", {"seed": 5}).apply(row, [], 0)
    assert (row.p.tolist(), row.token) == ([0, 1, 0], 1)
    assert (stub.ops.top_k, np.random.default_rng) == original


@pytest.mark.usefixtures("stub")
def test_many_draws_are_one_text() -> None:
    row = Row(np.array([1, 3], np.float32))
    stage = Stage("keras_hub_random", {"seed": 5})
    assert stage.draws(row, 4) == [1, 1, 1, 1]
    assert stage.sampler.variables[0].value == [5, 4]


def state_of(instance: Staged) -> Any:
    (stage,) = instance.stages
    assert isinstance(stage, Stage)
    return stage.sampler.variables[0].value


@pytest.mark.usefixtures("stub")
def test_a_clone_goes_on_with_the_count_and_a_reset_begins_anew() -> None:
    instance = Staged([{"keras_hub_random": {"seed": 5}}], Stage, "KerasHub")
    instance.apply(None, Row(np.array([1, 3], np.float32)))
    twin = instance.clone()
    assert [state_of(one) for one in (instance, twin)] == [[5, 1], [5, 1]]
    twin.reset()
    assert [state_of(one) for one in (instance, twin)] == [[5, 1], [5, 0]]


@pytest.mark.usefixtures("stub")
def test_what_keras_hub_has_not_is_unsupported_and_what_it_refuses_is_one_line() -> None:
    with pytest.raises(Unsupported, match="KerasHub has no min_p by itself"):
        Stage("min_p", {"p": 0.1})
    with pytest.raises(InputError, match="KerasHub: k is too small"):
        Staged([{"keras_hub_top_k": {"seed": 1, "k": 0}}], Stage, "KerasHub")
