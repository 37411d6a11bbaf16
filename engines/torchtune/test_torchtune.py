"""torchtune: its model by hand, its chains, and how an instance drives sample, with a stub."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.torchtune import worker
from sampler_parity.engines.torchtune.worker import Instance, Row, request_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied, logs

DIST: dict[str, Any] = {"dist": {"seed": 7}}


@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({}, [0.5, 0.25, 0.125, 0.125]),
        ({"temperature": 0.5}, [16 / 22, 4 / 22, 1 / 22, 1 / 22]),
        ({"temperature": 0.0}, [1, 0, 0, 0]),
        ({"temperature": -3.0}, [1, 0, 0, 0]),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 3}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_k": 9}, [0.5, 0.25, 0.125, 0.125]),
    ],
    ids=str,
)
def test_p_by_hand(parameters: dict[str, Any], p: list[float]) -> None:
    cand = applied("torchtune", parameters, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)
    assert cand.selected == -1


def test_what_torch_refuses_is_refused() -> None:
    for k in (0, -1):
        with pytest.raises(ChainError, match="top_k must be at least 1"):
            applied("torchtune", {"top_k": k}, [0.0])
    with pytest.raises(UndefinedInputError, match="contain NaN"):
        applied("torchtune", {"temperature": 0.0}, [1e35, 0.0])


def test_chains_become_arguments_of_sample() -> None:
    temp, top_k = {"temp": {"temp": 0.5}}, {"top_k": {"k": 4}}
    assert request_of([temp, top_k, DIST]) == ({"temperature": 0.5, "top_k": 4}, 7)
    assert request_of([{"torchtune": {"top_k": 2}}]) == ({"top_k": 2}, None)
    assert request_of([{"torchtune": {"top_k": 2}}, DIST]) == ({"top_k": 2}, 7)
    with pytest.raises(Unsupported, match="temp, top_k, in this order"):
        request_of([top_k, temp, DIST])
    with pytest.raises(Unsupported, match="has no greedy"):
        request_of([{"greedy": {}}])
    with pytest.raises(Unsupported, match="one stage, and then dist"):
        request_of([{"torchtune": {}}, temp])


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


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """torch's generator counts up from its seed; q is smallest at the count modulo n."""
    state: list[Any] = [tensor([0])]

    def sample(logits: Any, temperature: float = 1.0) -> int:
        if temperature < 0:
            raise ValueError("temperature is too small\nmore")
        state[0] = state[0] + 1
        q = np.ones_like(logits)
        q[0, int(state[0][0]) % logits.shape[1]] = 0.5
        return int(generation.multinomial_sample_one(logits * 2, q))

    generation = SimpleNamespace(
        sample=sample, multinomial_sample_one=lambda probs, q: (probs / q).argmax()
    )
    torch = SimpleNamespace(
        tensor=tensor,
        Generator=lambda: tensor([0]),
        set_rng_state=lambda of: state.__setitem__(0, of),
        get_rng_state=lambda: state[0].copy(),
    )
    engine = SimpleNamespace(generation=generation, torch=torch)
    monkeypatch.setattr(worker, "torchtune", lambda: engine)
    return engine


def test_p_is_what_the_draw_gets_and_the_function_is_put_back(stub: SimpleNamespace) -> None:
    original = stub.generation.multinomial_sample_one
    row = Row(np.array([1, 1, 1], np.float32))
    instance = Instance([{"torchtune": {}}, DIST])
    instance.apply(0, row)
    assert (row.p.tolist(), row.token) == ([2, 2, 2], -1)
    assert stub.generation.multinomial_sample_one is original
    instance.reset()
    instance.apply(None, row)
    assert row.token == 8 % 3
    with pytest.raises(InputError, match=r"torchtune: temperature is too small$"):
        Instance([{"torchtune": {"temperature": -1.0}}]).apply(0, row)


@pytest.mark.usefixtures("stub")
def test_a_clone_goes_on_by_itself_and_a_reset_begins_anew() -> None:
    row = Row(np.ones(100, np.float32))
    instance = Instance([DIST])
    assert instance.draw(row, 2, None).tolist() == [8, 9]
    twin = instance.clone()
    assert instance.draw(row, 1, None).tolist() == twin.draw(row, 1, None).tolist() == [10]
    twin.reset()
    assert twin.draw(row, 1, None).tolist() == [8]
    assert instance.draw(row, 1, None).tolist() == [11]
