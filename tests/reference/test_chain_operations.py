"""Operations of llama.h on a chain in the middle of a text, on the native chain and the
reference's.

They are: add, get, remove, copy, clone, counters, seeds, and custom samplers with missing members.
"""

import ctypes
import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates, TokenDataArray
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.llama_cpp.token_trie import Interface
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.reference import Candidates, Chain, UndefinedInputError, build_chain
from sampler_parity.reference.sampler import Custom

N = 48
STAGES: dict[str, dict[str, Any]] = {
    "top_k": {"k": 20},
    "temp": {"temp": 0.7},
    "min_p": {"p": 0.05},
    "penalties": {"penalty_last_n": 8, "penalty_repeat": 1.5, "penalty_present": 0.4},
    "xtc": {"p": 0.5, "t": 0.05, "seed": 6},
    "mirostat_v2": {"seed": 8},
    "adaptive_p": {"target": 0.4, "seed": 9},
    "dist": {"seed": 7},
}
ABORTED = signal.SIGABRT


class Both:
    """A chain of the library and its twin of the reference; every operation is done to both."""

    def __init__(self, worker: Worker, chain: int | None = None, twin: Chain | None = None) -> None:
        self.worker, self.library = worker, worker.library
        params = self.library.llama_sampler_chain_default_params()
        params.no_perf = False
        self.chain = chain or self.library.llama_sampler_chain_init(params)
        self.twin = twin or Chain([])

    def add(self, name: str) -> None:
        (stage,) = complete([{name: dict(STAGES[name])}], N)
        self.library.llama_sampler_chain_add(self.chain, self.worker._init(stage, N, None))
        self.twin.add(build_chain([stage], n_vocab=N).samplers[0])

    def remove(self, index: int) -> None:
        taken = self.library.llama_sampler_chain_remove(self.chain, index)
        assert (self.twin.remove(index) is None) == (taken is None)
        self.library.llama_sampler_free(taken)

    def move_to_the_end(self, index: int) -> None:
        """Taken out and put back, in its state."""
        taken = self.library.llama_sampler_chain_remove(self.chain, index)
        mine = self.twin.remove(index)
        assert (mine is None) == (taken is None)
        if mine is not None:
            self.library.llama_sampler_chain_add(self.chain, taken)
            self.twin.add(mine)

    def accept(self, token: int) -> None:
        self.library.llama_sampler_accept(self.chain, token)
        self.twin.accept(token)

    def reset(self, _index: int) -> None:
        self.library.llama_sampler_reset(self.chain)
        self.twin.reset()

    def reset_counters(self, _index: int) -> None:
        self.library.llama_perf_sampler_reset(self.chain)
        self.twin.accepted = 0

    def clone(self) -> "Both":
        clone = self.library.llama_sampler_clone(self.chain)
        return Both(self.worker, clone, self.twin.clone())

    def become_its_clone(self, _index: int) -> None:
        old, other = self.chain, self.clone()
        self.chain, self.twin = other.chain, other.twin
        self.library.llama_sampler_free(old)

    def go_through_a_copy(self, seed: int) -> None:
        """Another chain, which has gone its own way, takes the state of this one, and goes on."""
        other = self.clone()
        other.sample(seed)
        self.library.llama_sampler_copy(self.chain, other.chain)
        other.twin.copy_from(self.twin)
        other.check()
        self.library.llama_sampler_free(self.chain)
        self.chain, self.twin = other.chain, other.twin

    def sample(self, seed: int) -> None:
        """Applied to the same logits both leave the same, and accept what they select."""
        row = GeneratedLogits(family="normal", n=N, seed=seed).row(0)
        got, want = NativeCandidates(row), Candidates.from_logits(row)
        try:
            self.twin.apply(want)
            token = want.token
        except UndefinedInputError:
            reject()  # where llama.cpp aborts, or what was selected has been cut since
        self.library.llama_sampler_apply(self.chain, ctypes.byref(got.array))
        data = got.current()
        assert data["id"].tolist() == want.ids.tolist()
        assert data["logit"].tobytes() == want.logits.tobytes()
        assert got.array.selected == want.selected
        if token is not None:
            self.accept(token)

    def check(self) -> None:
        library, n = self.library, len(self.twin.samplers)
        assert library.llama_sampler_chain_n(self.chain) == n
        names = [
            library.llama_sampler_name(library.llama_sampler_chain_get(self.chain, i)).decode()
            for i in range(n)
        ]
        assert [name.replace("-", "_") for name in names] == [s.name for s in self.twin.samplers]
        assert library.llama_sampler_chain_get(self.chain, -1) == self.chain
        assert self.twin.get(-1) is self.twin
        for index in (-2, n):
            assert library.llama_sampler_chain_get(self.chain, index) is None
            assert self.twin.get(index) is None
        assert library.llama_perf_sampler(self.chain).n_sample == self.twin.accepted
        assert library.llama_sampler_get_seed(self.chain) == self.twin.seed

    def free(self) -> None:
        self.library.llama_sampler_free(self.chain)


_ON_A_NUMBER = ("remove", "move_to_the_end", "accept", "reset", "reset_counters",
                "become_its_clone", "go_through_a_copy", "sample", "sample", "sample")  # fmt: skip
OPERATION = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(sorted(STAGES))),
    st.tuples(st.sampled_from(_ON_A_NUMBER), st.integers(-2, 6)),
)


@settings(max_examples=15)
@given(operations=st.lists(OPERATION, min_size=4, max_size=24))
def test_operations_on_a_chain_in_mid_text_are_the_references(
    worker: Worker, operations: list[tuple[str, Any]]
) -> None:
    both = Both(worker)
    for name in ("penalties", "top_k", "dist"):
        both.add(name)
    for operation, argument in operations:
        if operation in ("sample", "go_through_a_copy", "accept"):
            argument = abs(argument)
        getattr(both, operation)(argument)
        both.check()
    both.free()


@pytest.mark.parametrize("fault", ["remove", "copy_from", "add"])
def test_a_reference_with_a_wrong_operation_is_detected(
    fault: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken out of the wrong place; a copy of the counters alone; put in front."""
    wrong: dict[str, Callable[..., Any]] = {
        "remove": lambda chain, index: chain.samplers.pop(index - 1),
        "copy_from": lambda chain, other: setattr(chain, "accepted", other.accepted),
        "add": lambda chain, sampler: chain.samplers.insert(0, sampler),
    }
    monkeypatch.setattr(Chain, fault, wrong[fault])
    both = Both(worker)
    with pytest.raises(AssertionError):
        _some_of_each(both)
    both.free()


@pytest.mark.parametrize("function", ["llama_sampler_copy", "llama_perf_sampler_reset"])
def test_a_library_with_a_function_that_does_nothing_is_detected(
    function: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(vars(worker.library), function, lambda *_: None)
    both = Both(worker)
    with pytest.raises(AssertionError):
        _some_of_each(both)
    both.free()


def _some_of_each(both: Both) -> None:
    for name in ("penalties", "top_k", "temp", "dist"):
        both.add(name)
    both.check()
    both.sample(1)
    both.go_through_a_copy(2)
    both.sample(3)
    both.remove(2)
    both.reset_counters(0)
    both.check()


def test_some_of_each_operation_is_the_references(worker: Worker) -> None:
    both = Both(worker)
    _some_of_each(both)
    both.free()


# Samplers of one's own.


class Made:
    """A native sampler with the members that are given: apply raises logit 3 by one, accept and
    reset are counted. It lives as long as it is held."""

    def __init__(self, library: Libllama, members: set[str], context: int | None = None) -> None:
        self.seen: list[Any] = []
        fields: dict[str, Any] = dict(Interface._fields_)
        calls: dict[str, Callable[..., Any]] = {
            "name": lambda _sampler: ctypes.addressof(self._text),
            "apply": lambda _sampler, array: self._apply(array.contents),
            "accept": lambda _sampler, token: self.seen.append(token),
            "reset": lambda _sampler: self.seen.append("reset"),
        }
        self._text = ctypes.create_string_buffer(b"mine")
        self.interface = Interface()
        for name in members:
            setattr(self.interface, name, fields[name](calls[name]))
        self.pointer = library.llama_sampler_init(ctypes.byref(self.interface), context)

    def _apply(self, array: TokenDataArray) -> None:
        logits = (ctypes.c_float * (3 * array.size)).from_address(array.data)
        logits[3 * 3 + 1] += 1


def reference_of(members: set[str], seen: list[Any], context: Any = None) -> Custom:
    def apply(_sampler: Custom, cand: Candidates) -> None:
        cand.logits[3] += np.float32(1)

    calls: dict[str, Any] = {
        "on_apply": apply,
        "on_accept": lambda _sampler, token: seen.append(token),
        "on_reset": lambda _sampler: seen.append("reset"),
    }
    return Custom(
        "mine", context, **{k: v for k, v in calls.items() if k.removeprefix("on_") in members}
    )


@pytest.mark.parametrize(
    "missing", [(), ("apply",), ("accept",), ("reset",), ("accept", "apply", "reset")], ids=str
)
def test_a_chain_passes_by_the_members_that_a_sampler_lacks(
    missing: tuple[str, ...], worker: Worker
) -> None:
    library, members = worker.library, {"name", "apply", "accept", "reset"} - {*missing}
    both, seen = Both(worker), list[Any]()
    mine = Made(library, members)
    library.llama_sampler_chain_add(both.chain, mine.pointer)
    both.twin.add(reference_of(members, seen))
    both.add("dist")
    for step in range(6):
        both.sample(step)
    both.reset(0)
    clone = both.clone()  # without a context there is no need of clone
    clone.sample(1)
    both.sample(1)
    assert mine.seen == seen
    clone.free()
    both.free()


def dies(function: Callable[[], object]) -> int:
    """The signal that ends a fork of this process in which the function is called; 0 for none."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        function()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def row() -> NDArray[np.float32]:
    return GeneratedLogits(family="normal", n=N, seed=1).row(0)


def _without_apply(library: Libllama, row: NDArray[np.float32]) -> Iterator[Any]:
    made, cand = Made(library, {"name"}), NativeCandidates(row)
    yield lambda: library.llama_sampler_apply(made.pointer, ctypes.byref(cand.array))
    yield lambda: reference_of(set(), []).apply(Candidates.from_logits(row))


def _clone_with_context(library: Libllama, row: NDArray[np.float32]) -> Iterator[Any]:
    made = Made(library, {"name", "apply"}, context=1)
    yield lambda: library.llama_sampler_clone(made.pointer)
    yield lambda: reference_of({"apply"}, [], context=1).clone()


def _copy_of_another(library: Libllama, row: NDArray[np.float32]) -> Iterator[Any]:
    worker = Worker()
    chains = [worker.build([{name: STAGES[name]}], N, None) for name in ("top_k", "temp")]
    yield lambda: library.llama_sampler_copy(chains[0].chain, chains[1].chain)
    yield lambda: build_chain([{"temp": STAGES["temp"]}]).copy_from(
        build_chain([{"top_k": STAGES["top_k"]}])
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "case", [_without_apply, _clone_with_context, _copy_of_another], ids=lambda f: f.__name__[1:]
)
def test_where_llama_cpp_aborts_the_reference_refuses(
    case: Callable[..., Iterator[Any]], libllama: Libllama, row: NDArray[np.float32]
) -> None:
    native, of_reference = case(libllama, row)
    assert dies(native) == -ABORTED
    with pytest.raises(UndefinedInputError, match=r"llama\.cpp aborts"):
        of_reference()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_sampler_without_a_name_ends_the_process_that_asks_for_it(libllama: Libllama) -> None:
    """According to llama.h the name can be NULL, but llama_sampler_name calls it."""
    made = Made(libllama, {"apply"})
    assert dies(lambda: libllama.llama_sampler_name(made.pointer)) == -signal.SIGSEGV
