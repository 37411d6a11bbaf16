"""reference/compiled.py: Numba gets the types that it would infer, and nothing else."""

from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.reference import compiled, floats, random


class Other(np.ndarray[Any, Any]):
    """An array class whose type Numba infers itself."""


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, np.float32),
        np.zeros(0, np.uint8),
        np.zeros((3, 4), order="F"),
        np.zeros((3, 4))[:, ::2],
        np.zeros((2, 3, 4), np.int64),
        np.zeros((), np.int32),
        np.zeros(3, np.bool_),
        np.zeros(3, ">f4"),
        np.zeros(3, np.longdouble),
        np.zeros(3, np.float16),
        np.frombuffer(b"abcdefghi", np.float64, 1, 1),
        np.zeros(3, "U2"),
        np.zeros(3, [("id", "i4"), ("logit", "f4")]),
        _read_only(np.zeros(3)),
    ],
    ids=lambda array: f"{array.dtype}-{array.ndim}",
)
def test_a_plain_array_has_the_type_that_numba_gives_it(array: NDArray[Any]) -> None:
    from numba import errors, typeof

    floats.load_compiler()
    try:
        by_numba = typeof(array.view(Other))
    except errors.NumbaError as refusal:
        with pytest.raises(type(refusal)):
            typeof(array)
    else:
        assert typeof(array) == by_numba


def test_a_masked_array_is_refused_as_by_numba_itself() -> None:
    """Asked for the type: of arrays that it has met, a compiled function asks no more."""
    from numba import errors, typeof

    floats.load_compiler()
    with pytest.raises(errors.NumbaTypeError, match="MaskedArray"):
        typeof(np.ma.zeros(3))


def test_random_numbers_need_no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine's environment has none, and its worker takes the numbers of the reference."""
    spec = find_spec(random.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setattr(compiled, "find_spec", lambda name: None)
    spec.loader.exec_module(module)
    functions = (module._seeded, module._words, module._twist)
    assert not any(isinstance(of, compiled.Compiled) for of in functions)
    for seed in (0, 7, 0xFFFFFFFE):
        mine, theirs = module.Mt19937(seed), random.Mt19937(seed)
        assert mine.words(2000).tolist() == theirs.words(2000).tolist()
        assert mine.clone().uniform_double() == theirs.clone().uniform_double()
