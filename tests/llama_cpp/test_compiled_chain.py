"""harness/llama_cpp/chain.py gives what the loop in Python gives."""

from collections.abc import Iterator
from contextlib import closing
from ctypes import CFUNCTYPE, POINTER, addressof, c_int32, c_int64, c_void_p
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import chain as compiled_chain
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates, TokenDataArray
from sampler_parity.harness.llama_cpp.chain import (
    CompiledChain,
    NativeChain,
    chain_type,
    compiled_loop,
)
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.suite.file import expand, find_suites

APPLY = CFUNCTYPE(None, c_void_p, POINTER(TokenDataArray))
N = 7
NONE = -(1 << 63)
DETAILS: tuple[client.Detail, ...] = ("stages", "token")


@pytest.fixture(scope="module")
def backend() -> Iterator[InPlace]:
    with closing(InPlace("llama.cpp", Worker())) as made:
        yield made


def answered(
    backend: InPlace, case: Any, loop: type[NativeChain], detail: client.Detail
) -> list[Any]:
    """Return all of a reply but its times."""
    ready = prepare(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sampler_parity.harness.llama_cpp.worker.chain_type", lambda: loop)
        call = (backend, ready.setting, ready.rows, ready.steps)
        got = client.run(*call, instances=ready.instances, detail=detail)
    parts = [
        (stage.ids.tobytes(), stage.logits.tobytes(), stage.p.tobytes(), stage.sorted)
        for step in got.stages
        for stage in step
    ]
    return [got.tokens, parts, [stage.selected for step in got.stages for stage in step]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "suite", ["scripts", "xtc", "dry", "non_finite", "penalties", "capacities"]
)
def test_both_loops_leave_the_same_bits(backend: InPlace, suite: str) -> None:
    (path,) = find_suites([f"parity/{suite}"])
    every = expand(path, "quick")[::12]
    cases = [case for case in every if isinstance(case, StagesCase)]
    stages = 0
    for case in cases:
        for detail in DETAILS:
            of = [answered(backend, case, c, detail) for c in (CompiledChain, NativeChain)]
            assert of[0] == of[1], (case.id, detail)
            stages += len(of[0][1])
    assert stages > 30


def left_by(sampler: Any) -> tuple[list[int], list[int], list[Any]]:
    """Return what stages_apply puts into `left` and `out` for one sampler, and what
    NativeCandidates finds after it."""
    loop = compiled_loop()
    assert loop is not None
    row = np.arange(N, dtype=np.float32)
    out, left, function = (c_int32 * (3 * N))(), (c_int64 * 5)(), APPLY(sampler)
    address = row.__array_interface__["data"][0]
    loop.stages_apply(function, (c_void_p * 1)(None), 1, address, N, addressof(out), left)
    candidates = NativeCandidates(row)
    function(None, candidates.reference)
    ids, logits, p, _, _ = candidates.result()
    return [*left], [*out], [*ids, *logits.view(np.int32), *p.view(np.int32)]


@pytest.mark.parametrize("first", [0, 2, N])
@pytest.mark.parametrize("size", [0, 3, N, 10 * N])
@pytest.mark.parametrize("selected", [-1, 0, 2, N, 2**40])
def test_no_more_is_read_than_there_is(first: int, size: int, selected: int) -> None:
    def sampler(_: Any, array: Any) -> None:
        array.contents.data += 12 * first
        array.contents.size, array.contents.selected = size, selected
        array.contents.sorted = True

    left, out, found = left_by(sampler)
    n = min(size, N - first)
    assert left[2:] == [n, 1, selected]
    assert left[0] == (first + selected if 0 <= selected < n else NONE)
    assert out[: 3 * n] == found
    assert out[3 * n :] == [0] * (3 * (N - n))


@pytest.mark.parametrize("bytes_off", [-12, 12 * N + 12, 2**40])
def test_candidates_elsewhere_are_not_read(bytes_off: int) -> None:
    def sampler(_: Any, array: Any) -> None:
        array.contents.data += bytes_off
        array.contents.selected = 0

    left, out, _ = left_by(sampler)
    assert (left[0], left[2], {*out}) == (NONE, 0, {0})


@pytest.mark.parametrize("selected", [0, -1])
def test_a_selected_token_may_have_the_id_minus_1(selected: int) -> None:
    """As infill of b3995 to b6673 leaves it where the vocabulary has no end of a turn."""

    def sampler(_: Any, array: Any) -> None:
        c_int32.from_address(array.contents.data).value = -1
        array.contents.size, array.contents.selected = 1, selected

    chain: Any = SimpleNamespace(_loop=compiled_loop(), _left=(c_int64 * 5)())
    chain._each = (APPLY(sampler), (c_void_p * 1)(None), 1)
    token, _, left = CompiledChain.apply_all(chain, False, np.zeros(N, np.float32), 0)
    assert (token, left) == (None if selected < 0 else -1, [1, 0, selected])


def test_without_a_compiler_the_loop_is_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*_: Any) -> None:
        raise InputError("stages.cpp", "needs a C++ compiler")

    assert chain_type() is CompiledChain
    compiled_loop.cache_clear()
    monkeypatch.setattr(compiled_chain, "built", without)
    try:
        assert chain_type() is NativeChain
    finally:
        compiled_loop.cache_clear()


def test_a_clone_is_compiled_too(backend: InPlace) -> None:
    chain = backend.worker.build([{"greedy": {}}], N, None)
    assert isinstance(chain, CompiledChain)
    assert isinstance(chain.clone(), CompiledChain)
