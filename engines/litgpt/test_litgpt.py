"""litgpt: its model by hand, its chains, and how an instance drives sample, with a stub for it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.litgpt import worker
from sampler_parity.engines.litgpt.worker import Instance, Request, Row, request_of
from sampler_parity.engines.shared.torch_cpu import largest
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import ChainError, UndefinedInputError
from tests.support.applied import applied, logs

DIST: dict[str, Any] = {"dist": {"seed": 7}}


# 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are. From the least likely up they are
# 0.125, 0.25, 0.5, 1.
@pytest.mark.parametrize(
    ("parameters", "p"),
    [
        ({}, [0.5, 0.25, 0.125, 0.125]),
        ({"temperature": 0.5}, [16 / 22, 4 / 22, 1 / 22, 1 / 22]),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 9}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.75}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.88}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"top_p": 0.6, "top_k": 2}, [1, 0, 0, 0]),
    ],
    ids=str,
)
def test_p_by_hand(parameters: dict[str, Any], p: list[float]) -> None:
    cand = applied("litgpt", parameters, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)
    assert cand.selected == -1


@pytest.mark.parametrize(
    ("parameters", "token"),
    [
        ({"temperature": 0.0}, 1),
        ({"temperature": -2.0}, 1),
        ({"top_p": 0.0}, 1),
        ({"top_k": 0, "temperature": 0.0}, 0),
    ],
    ids=str,
)
def test_greedy_by_hand(parameters: dict[str, Any], token: int) -> None:
    assert applied("litgpt", parameters, [1.0, 3.0, 3.0, 2.0]).token == token


def test_what_torch_and_litgpt_refuse_is_refused() -> None:
    for parameters, why in (
        ({"top_p": 1.5}, "top_p must be in 0..1"),
        ({"top_p": -0.1}, "top_p must be in 0..1"),
        ({"top_k": -1}, "top_k must be at least 0"),
    ):
        with pytest.raises(ChainError, match=why):
            applied("litgpt", parameters, [0.0])
    with pytest.raises(UndefinedInputError, match="contain NaN"):
        applied("litgpt", {"top_k": 0}, [0.0, 1.0])


@pytest.mark.parametrize("n", [3, 4, 17, 200, 1000])
def test_the_largest_of_topk_are_the_largest(n: int) -> None:
    rng = np.random.default_rng(n)
    for k in (1, 2, n // 2, n):
        values = np.round(rng.normal(0, 2, n)).astype(np.float32)
        kept = largest(values, k)
        assert len(set(kept.tolist())) == k
        assert sorted(values[kept].tolist()) == sorted(values.tolist())[n - k :]


def test_nth_element_of_equal_ones_by_hand() -> None:
    # Six equal keys, the third. The pivot, of places 1, 3 and 5, is 3. It changes places with 0,
    # then 1 and 5, 2 and 4 change places: 3 5 4 0 2 1. The ends meet at 3: three are left in front.
    assert largest(np.zeros(6, np.float32), 3).tolist() == [3, 5, 4]


def test_chains_become_arguments_of_sample() -> None:
    top_k, temp, top_p = {"top_k": {"k": 4}}, {"temp": {"temp": 0.5}}, {"top_p": {"p": 0.9}}
    whole = {"top_k": 4, "temperature": 0.5, "top_p": 0.9}
    assert request_of([top_k, temp, top_p, DIST]) == Request(whole, seed=7)
    assert request_of([{"greedy": {}}]) == Request({"temperature": 0.0})
    assert request_of([{"litgpt": {"top_k": 2}}]) == Request({"top_k": 2}, draws=False)
    assert request_of([{"litgpt": {"top_k": 2}}, DIST]) == Request({"top_k": 2}, seed=7)
    with pytest.raises(Unsupported, match="top_k, temp, top_p, in this order"):
        request_of([temp, top_k, DIST])
    with pytest.raises(Unsupported, match="one stage, and then dist"):
        request_of([{"litgpt": {}}, top_k])


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
    """torch's generator counts up from its seed; multinomial gives the count modulo n."""
    state: list[Any] = [tensor([0])]

    def multinomial(probs: Any) -> int:
        state[0] = state[0] + 1
        return int(state[0][0]) % len(probs)

    def sample(logits: Any, temperature: float = 1.0) -> int:
        if temperature < 0:
            raise ValueError("temperature is too small\nmore")
        row = logits[0, 0]
        return int(base.multinomial_num_samples_1(row * 2)) if temperature else int(row.argmax())

    base = SimpleNamespace(multinomial_num_samples_1=multinomial, sample=sample)
    torch = SimpleNamespace(
        tensor=tensor,
        Generator=lambda: tensor([0]),
        set_rng_state=lambda of: state.__setitem__(0, of),
        get_rng_state=lambda: state[0].copy(),
    )
    engine = SimpleNamespace(base=base, torch=torch)
    monkeypatch.setattr(worker, "litgpt", lambda: engine)
    return engine


def test_p_is_what_the_draw_gets_and_the_function_is_put_back(stub: SimpleNamespace) -> None:
    original = stub.base.multinomial_num_samples_1
    row = Row(np.array([1, 2, 3], np.float32))
    instance = Instance([{"litgpt": {}}, DIST])
    instance.apply(0, row)
    assert (row.p.tolist(), row.token) == ([2, 4, 6], -1)
    assert stub.base.multinomial_num_samples_1 is original
    instance.reset()
    instance.apply(None, row)
    assert row.token == 8 % 3


@pytest.mark.usefixtures("stub")
def test_a_greedy_token_is_shown_and_a_refusal_is_one_line() -> None:
    row = Row(np.array([1, 9, 3], np.float32))
    Instance([{"litgpt": {"temperature": 0.0}}]).apply(0, row)
    assert (row.p.tolist(), row.token) == ([0, 0, 0], 1)
    with pytest.raises(InputError, match=r"LitGPT: temperature is too small$"):
        Instance([{"litgpt": {"temperature": -1.0}}]).apply(0, row)


@pytest.mark.usefixtures("stub")
def test_a_clone_goes_on_by_itself_and_a_reset_begins_anew() -> None:
    row = Row(np.zeros(100, np.float32))
    instance = Instance([DIST])
    assert instance.draw(row, 2, None).tolist() == [8, 9]
    twin = instance.clone()
    assert instance.draw(row, 1, None).tolist() == twin.draw(row, 1, None).tolist() == [10]
    twin.reset()
    assert twin.draw(row, 1, None).tolist() == [8]
    assert instance.draw(row, 1, None).tolist() == [11]
