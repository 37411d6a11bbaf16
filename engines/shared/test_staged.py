"""An engine's stages one after the other: their tokens, their copies, and refusals."""

import random
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.errors import InputError, Unsupported


class Recorder:
    """Writes its arguments into the row; draws numbers of its own."""

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        self.name, self.rng = name, random.Random(parameters["seed"])
        self.seed = parameters["seed"]

    def apply(self, row: list[Any], tokens: list[int], n_prompt: int) -> None:
        if self.name == "refuses":
            raise IndexError("no such row")
        row.append((self.name, list(tokens), n_prompt))

    def draws(self, row: list[Any], n: int) -> list[int]:
        return [self.rng.randrange(1000) for _ in range(n)]

    def reset(self) -> None:
        self.rng.seed(self.seed)

    def draw_as(self, other: "Recorder") -> None:
        self.rng.setstate(other.rng.getstate())


def staged(*names: str) -> Staged:
    return Staged([{name: {"seed": 7}} for name in names], Recorder, "Recorder", (IndexError,))


def test_a_stage_gets_all_tokens_and_how_many_are_the_prompt() -> None:
    instance, row = staged("a", "b"), list[Any]()
    instance.accept_prompt(3)
    instance.accept(4)
    instance.apply(1, row)
    instance.reset()
    instance.apply(None, row)
    assert row == [("b", [3, 4], 1), ("a", [], 0), ("b", [], 0)]


def test_a_copy_draws_on_as_the_original_and_has_a_text_of_its_own() -> None:
    instance, row = staged("a", "b"), list[Any]()
    first = instance.draw(row, 3, None).tolist()
    instance.accept(5)
    twin = instance.clone()
    twin.accept(6)
    second = instance.draw(row, 3, None).tolist()
    assert twin.draw([], 3, None).tolist() == second != first
    assert (instance.tokens, twin.tokens) == ([5], [5, 6])
    assert row == [("a", [], 0), ("a", [5], 0)]
    instance.reset()
    assert instance.draw(row, 3, None).tolist() == first


def test_what_the_engine_raises_is_a_refusal_by_its_name_and_uniforms_are_unsupported() -> None:
    instance = staged("refuses", "b")
    for call in (lambda: instance.apply(0, []), lambda: instance.draw([], 1, None)):
        with pytest.raises(InputError, match=r"^Recorder: no such row$"):
            call()
    with pytest.raises(Unsupported, match="Recorder takes no uniforms"):
        instance.draw([], 1, np.zeros(1))
