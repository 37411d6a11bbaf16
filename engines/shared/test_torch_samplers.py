"""litgpt and torchtune: how an instance drives sample, with a stub for the engine and torch."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.litgpt import worker as litgpt
from sampler_parity.engines.torchtune import worker as torchtune
from sampler_parity.harness.errors import InputError, Unsupported
from tests.support.case_tables import cases_of

DIST: dict[str, Any] = {"dist": {"seed": 7}}


class Tensor(np.ndarray[Any, Any]):
    def numpy(self) -> Any:
        return np.asarray(self)

    def get_state(self) -> "Tensor":
        return self.copy()

    def manual_seed(self, seed: int) -> "Tensor":
        return tensor([seed])

    def clone(self) -> "Tensor":
        return self.copy()


def tensor(values: Any) -> Tensor:
    return np.array(values).view(Tensor)


def of_litgpt(count: Callable[[], int]) -> Any:
    def sample(logits: Any, temperature: float = 1.0) -> int:
        if temperature < 0:
            raise ValueError("temperature is too small\nmore")
        row = logits[0, 0]
        return int(base.multinomial_num_samples_1(row * 2)) if temperature else int(row.argmax())

    base = SimpleNamespace(
        multinomial_num_samples_1=lambda probs: count() % len(probs), sample=sample
    )
    return base


def of_torchtune(count: Callable[[], int]) -> Any:
    """q is smallest at the count modulo n."""

    def sample(logits: Any, temperature: float = 1.0) -> int:
        if temperature < 0:
            raise ValueError("temperature is too small\nmore")
        q = np.ones_like(logits)
        q[0, count() % logits.shape[1]] = 0.5
        return int(generation.multinomial_sample_one(logits * 2, q))

    generation = SimpleNamespace(
        sample=sample, multinomial_sample_one=lambda probs, q: (probs / q).argmax()
    )
    return generation


@pytest.fixture(params=[(litgpt, "base", of_litgpt), (torchtune, "generation", of_torchtune)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker's module; its torch has a generator that counts up from its seed."""
    worker, name, make = request.param
    state: list[Any] = [tensor([0])]

    def count() -> int:
        state[0] = state[0] + 1
        return int(state[0][0])

    torch = SimpleNamespace(
        tensor=tensor,
        Generator=lambda: tensor([0]),
        set_rng_state=lambda of: state.__setitem__(0, of),
        get_rng_state=lambda: state[0].copy(),
    )
    loaded = SimpleNamespace(**{name: make(count)}, torch=torch)
    monkeypatch.setattr(worker, worker.NAME, lambda: loaded)
    worker.functions = vars(vars(loaded)[name])
    return worker


def test_p_is_what_the_draw_gets_and_the_function_is_put_back(engine: Any) -> None:
    original = dict(engine.functions)
    row = engine.Row(np.array([1, 1, 1], np.float32))
    instance = engine.Instance([{engine.NAME: {}}, DIST])
    instance.apply(0, row)
    assert (row.p.tolist(), row.token) == ([2, 2, 2], -1)
    assert engine.functions == original
    instance.reset()
    instance.apply(None, row)
    assert row.token == 8 % 3
    with pytest.raises(InputError, match=r"temperature is too small$"):
        engine.Instance([{engine.NAME: {"temperature": -1.0}}]).apply(0, row)


def test_a_clone_goes_on_by_itself_and_a_reset_begins_anew(engine: Any) -> None:
    row = engine.Row(np.ones(100, np.float32))
    instance = engine.Instance([DIST])
    assert instance.draw(row, 2, None).tolist() == [8, 9]
    twin = instance.clone()
    assert instance.draw(row, 1, None).tolist() == twin.draw(row, 1, None).tolist() == [10]
    twin.reset()
    assert twin.draw(row, 1, None).tolist() == [8]
    assert instance.draw(row, 1, None).tolist() == [11]


@pytest.mark.parametrize("engine", [(litgpt, "base", of_litgpt)], indirect=True)
def test_a_greedy_token_of_litgpt_is_shown(engine: Any) -> None:
    row = engine.Row(np.array([1, 9, 3], np.float32))
    engine.Instance([{"litgpt": {"temperature": 0.0}}]).apply(0, row)
    assert (row.p.tolist(), row.token) == ([0, 0, 0], 1)


TOP_K, TEMP, TOP_P = {"top_k": {"k": 4}}, {"temp": {"temp": 0.5}}, {"top_p": {"p": 0.9}}


def test_chains_become_arguments_of_sample() -> None:
    request, of = litgpt.Request, litgpt.request_of
    whole = {"top_k": 4, "temperature": 0.5, "top_p": 0.9}
    assert of([TOP_K, TEMP, TOP_P, DIST]) == request(whole, seed=7)
    assert of([{"greedy": {}}]) == request({"temperature": 0.0})
    assert of([{"litgpt": {"top_k": 2}}]) == request({"top_k": 2}, draws=False)
    assert of([{"litgpt": {"top_k": 2}}, DIST]) == request({"top_k": 2}, seed=7)
    assert torchtune.request_of([TEMP, TOP_K, DIST]) == ({"temperature": 0.5, "top_k": 4}, 7)
    assert torchtune.request_of([{"torchtune": {"top_k": 2}}]) == ({"top_k": 2}, None)
    assert torchtune.request_of([{"torchtune": {"top_k": 2}}, DIST]) == ({"top_k": 2}, 7)


@pytest.mark.parametrize(("name", "chain", "why"), cases_of(__file__)["unsupported"])
def test_another_chain_is_unsupported(name: str, chain: Any, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        {"litgpt": litgpt, "torchtune": torchtune}[name].request_of(chain)
