"""The trie in C++: its C functions, its refusals, and the cases of its suite."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import compiled, token_trie
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.compiled_trie import CompiledTrie, Worker
from sampler_parity.harness.llama_cpp.libllama import _KEEP_ERRORS, _LOG, Libllama
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie, NativeTrie
from sampler_parity.harness.suite.file import expand, find_suites, read_suite
from sampler_parity.harness.trie.grammar import step_ns
from sampler_parity.reference import Candidates, ChainError
from sampler_parity.reference.samplers.token_trie import LIMIT, SPAN_TOO_LONG, TokenTrie
from sampler_parity.reference.trie import read_payload
from tests.support.inside import Inside
from tests.support.tries import LEAF_LISTS, SEED, as_json, payload, stage_of, without_prefixes

INF = np.inf


@pytest.fixture(scope="module")
def worker() -> Worker:
    return Worker()


@pytest.fixture(scope="module")
def tries(worker: Worker) -> CompiledTrie:
    return worker.tries


def left(library: Libllama, sampler: int, ids: list[int], logits: list[float]) -> list[float]:
    """Return the logits after the sampler."""
    candidates = NativeCandidates(np.array(logits, np.float32))
    candidates.data["id"] = ids
    library.apply(sampler, candidates.array)
    return list(candidates.current()["logit"].tolist())


def test_the_seed_masks_and_walks(libllama: Libllama, tries: CompiledTrie) -> None:
    """By the function of the document."""
    trie = tries.llama_sampler_init_token_trie(None, SEED.encode(), 0)
    assert libllama.llama_sampler_name(trie) == b"token_trie"
    assert left(libllama, trie, [100, 200, 999], [5.0, 4.0, 6.0]) == [5.0, 4.0, -INF]
    libllama.llama_sampler_accept(trie, 100)
    assert left(libllama, trie, [101, 7], [1.0, 2.0]) == [1.0, -INF]
    libllama.llama_sampler_accept(trie, 101)
    assert left(libllama, trie, [101, 7], [1.0, 2.0]) == [1.0, 2.0]
    libllama.llama_sampler_free(trie)


def test_an_empty_descriptor_gives_no_sampler_and_a_line_in_the_log(
    tries: CompiledTrie, worker: Worker
) -> None:
    empty = as_json([], "test")
    assert tries.llama_sampler_init_token_trie(None, empty.encode(), 0) is None
    with pytest.raises(ChainError, match="descriptors: must be a list that is not empty"):
        tries.init(empty, 0)


def test_a_chain_of_it_outlives_what_it_was_cloned_of(
    libllama: Libllama, tries: CompiledTrie
) -> None:
    first = tries.init(SEED, 1)
    libllama.llama_sampler_accept(first, 100)
    twin = libllama.llama_sampler_clone(first)
    libllama.llama_sampler_reset(first)
    assert left(libllama, first, [101, 7], [1.0, 2.0]) == [1.0, 2.0]
    libllama.llama_sampler_free(first)
    assert left(libllama, twin, [101, 7], [1.0, 2.0]) == [1.0, -INF]
    libllama.llama_sampler_free(twin)


def selected(library: Libllama, chain: int) -> int:
    """The token that a chain selects of ten, the last the largest."""
    candidates = NativeCandidates(np.arange(10, dtype=np.float32))
    library.apply(chain, candidates.array)
    return int(candidates.current()["id"][candidates.array.selected])


@pytest.mark.parametrize("mode", [0, 1])
def test_set_opens_a_span_in_a_chain_and_clear_ends_it(
    libllama: Libllama, worker: Worker, mode: int
) -> None:
    tries, text = worker.tries, payload([3, 4], [5, 6]).encode()
    chain = tries.token_trie_slot_init(None, worker._init({"greedy": {}}, 10, None))
    assert selected(libllama, chain) == 9
    tries.eliza_inference_set_token_trie(chain, text, len(text), mode)
    assert selected(libllama, chain) == 5
    libllama.llama_sampler_accept(chain, 5)
    twin = libllama.llama_sampler_clone(chain)
    tries.eliza_inference_set_token_trie(chain, b"{", 1, mode)  # refused: all stays as it was
    assert selected(libllama, chain) == 6
    tries.eliza_inference_clear_token_trie(chain)
    assert selected(libllama, chain) == 9
    assert selected(libllama, twin) == 6
    libllama.llama_sampler_accept(twin, 6)  # the end of the leaf
    assert selected(libllama, twin) == 9
    for made in (chain, twin):
        libllama.llama_sampler_free(made)


def test_in_mode_0_what_stands_behind_a_span_does_not_draw(
    libllama: Libllama, worker: Worker
) -> None:
    """So the first draw after the span is the first of the seed."""
    tries, text = worker.tries, payload([3], [5]).encode()
    dist = {"dist": {"seed": 4}}
    alone = worker._init(dist, 10, None)
    slot = tries.token_trie_slot_init(None, worker._init(dist, 10, None))
    tries.eliza_inference_set_token_trie(slot, text, len(text), 0)
    assert selected(libllama, slot) == 5
    libllama.llama_sampler_accept(slot, 5)
    draws = [[selected(libllama, sampler) for _ in range(20)] for sampler in (slot, alone)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 1
    for sampler in (slot, alone):
        libllama.llama_sampler_free(sampler)


@pytest.mark.slow
@given(
    spans=st.lists(LEAF_LISTS.map(without_prefixes), min_size=1, max_size=3),
    tokens=st.lists(st.integers(0, 6), max_size=16),
    reset_at=st.integers(0, 40),
)
@settings(max_examples=40)  # half a second; the 10,000 random cases of the suite go further
def test_it_stands_where_the_references_trie_stands(
    libllama: Libllama, tries: CompiledTrie, spans: Any, tokens: list[int], reset_at: int
) -> None:
    """Across descriptors, in any text, with a reset and a clone in it."""
    listed = [[vars(leaf) for leaf in leaves] for leaves in spans]
    text = as_json([{"path": str(i), "leaves": leaves} for i, leaves in enumerate(listed)])
    reference, native = TokenTrie(text, 1, across=True), tries.init(text, 1, across=True)
    for i, token in enumerate(tokens):
        cand = Candidates.from_logits(np.ones(7, np.float32))
        reference.apply(cand)
        assert left(libllama, native, [*range(7)], [1.0] * 7) == cand.logits.tolist()
        if i == reset_at:
            reference.reset()
            libllama.llama_sampler_reset(native)
        if i == reset_at // 2:
            reference, twin = reference.clone(), libllama.llama_sampler_clone(native)
            libllama.llama_sampler_free(native)
            native = twin
        reference.accept(token)
        libllama.llama_sampler_accept(native, token)
    libllama.llama_sampler_free(native)


def test_it_warns_and_resets_after_500_tokens(libllama: Libllama, tries: CompiledTrie) -> None:
    logged: list[tuple[int, bytes]] = []
    listening = _LOG(lambda level, line, _: logged.append((level, line)))
    trie = tries.init(payload([1, 2] * 250), 1)
    libllama.llama_log_set(listening, None)
    for i in range(500):
        assert left(libllama, trie, [1, 2, 7], [1.0] * 3).count(-INF) == 2
        libllama.llama_sampler_accept(trie, 1 + i % 2)
    libllama.llama_log_set(_KEEP_ERRORS, None)
    assert left(libllama, trie, [1, 2, 7], [1.0] * 3) == [1.0] * 3
    ((level, line),) = logged
    assert (level, SPAN_TOO_LONG % LIMIT) == (3, line.decode().strip())
    libllama.llama_sampler_free(trie)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trie_descriptor_json": "{"}, "no JSON"),
        ({"trie_descriptor_json": payload([1, 2], [1])}, r"\[0\]: leaf 'L1' is a prefix of 'L0'"),
        ({"trie_descriptor_json": payload([1], [1])}, "has the tokens of"),
        ({"trie_descriptor_json": payload([1], [2, 60])}, r"leaves\[1\].tokens\[1\]: .* token 60"),
        ({"trie_descriptor_json": payload([1] * 501)}, "more than 500 tokens"),
        ({"trie_descriptor_json": payload([1]) + "\0"}, "no JSON"),
        ({"model_id": "other"}, "is for 'm', the model is 'other'"),
        ({"mode": 7}, "mode: must be in 0..1, got 7"),
        ({"path": "other"}, "path 'other': is none of the payload's"),
    ],
    ids=["json", "prefix", "same", "vocabulary", "long", "zero", "model", "mode", "path"],
)
def test_bad_input_is_refused_with_its_place(
    worker: Worker, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ChainError, match=message):
        worker.build([stage_of(payload([1, 2], [3]), 50, **changes)], 50, None)


# JSON as text, so that what no writer makes is there, too: a key twice, numbers that are no ids
def mostly(usual: list[str], odd: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(usual * (1 + 6 * len(odd) // len(usual)) + odd)


TEXTS = mostly(
    [*(f'"{letter}"' for letter in "abcdefghijklmnopqrstuvw"), r'"\u0061"', r'"\ud83d\ude00"',
     '"\U0001f600"', r'"\ud83d"', r'"\n\/"', '"\x7f"', r'"\ud83d\u0061"'],
    ['""', r'"\u00"', r'"\q"', '"a\n"', "1", "null", '"'],
)  # fmt: skip
IDS = mostly(
    [*map(str, range(20)), "2147483647", "-0", " 5\t"],
    ["-1", "01", "1.0", "1e1", "2147483648", "true", '"1"', "- 1", "+1", "-", "9" * 30],
)
LISTED = st.sampled_from(["", ",", " , ", ",,"])


def listed(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    usual = st.lists(items, min_size=1, max_size=3).map(", ".join)
    odd = st.tuples(st.lists(items, max_size=2), LISTED).map(lambda made: made[1].join(made[0]))
    return st.one_of(*[usual] * 9, odd).map(lambda inside: f"[{inside}]")


def table(first: str, texts: Any, second: str, lists: Any) -> st.SearchStrategy[str]:
    members = [texts.map(lambda text: f'"{first}": {text}'), lists.map(f'"{second}":{{}}'.format)]
    whole = st.tuples(*members).flatmap(st.permutations)
    odd = st.lists(st.one_of(*members, st.just('"x": 1')), max_size=3)
    return st.one_of(*[whole] * 9, odd).map(lambda made: "{" + ", ".join(made) + "}")


LEAVES = listed(table("name", TEXTS, "tokens", listed(IDS)))
PAYLOADS = table("modelId", TEXTS, "descriptors", listed(table("path", TEXTS, "leaves", LEAVES)))


def accepted(read: Any, text: str) -> bool:
    try:
        read(text)
    except ChainError:
        return False
    return True


def assert_refused_alike(libllama: Libllama, tries: CompiledTrie, text: str) -> None:
    def native(text: str) -> None:
        libllama.llama_sampler_free(tries.init(text, 0))

    assert accepted(native, text) == accepted(read_payload, text)


@pytest.mark.slow
@given(PAYLOADS)
@example(SEED)
@example("\ufeff" + SEED)
@example(SEED + " x")
@example(SEED[:-1])
@example("")
@example(payload([1], path="\ud800"))
def test_it_refuses_what_the_reference_refuses_and_nothing_else(
    libllama: Libllama, tries: CompiledTrie, text: str
) -> None:
    assert_refused_alike(libllama, tries, text)


@given(st.integers(0, len(SEED) - 1), st.sampled_from(["", '"', ",", "]", "}", "0", "\\", " "]))
def test_a_letter_off_is_refused_where_the_reference_refuses_it(
    libllama: Libllama, tries: CompiledTrie, at: int, letter: str
) -> None:
    assert_refused_alike(libllama, tries, SEED[:at] + letter + SEED[at + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("made", [Worker, token_trie.Worker], ids=["compiled", "python"])
def test_it_is_identical_to_the_reference_on_the_cases_written_by_hand(made: Any) -> None:
    """All 10,022 of `run trie/token_trie --profile full -b token_trie/compiled` are, too."""
    (path,) = find_suites(["trie/token_trie"])
    file = read_suite(path)
    by_hand = file.suite.model_copy(update={"random_tries": []})
    cases = expand(replace(file, content=by_hand), "quick")
    assert len(cases) > 22
    with closing(Inside(made(), name="mine")) as backend:
        for case in cases:
            assert execute(case, [backend]).backends[backend.name].verdict == "identical", case.id


def test_a_step_is_at_least_five_times_cheaper_than_by_pythons_functions(
    libllama: Libllama, tries: CompiledTrie
) -> None:
    """Compacting, as a session does. The least time of each, because other work only adds to it."""
    text = payload([5, 6], [7, 8])
    flat = FlatTrie(read_payload(text).descriptors[0].leaves)
    row = np.zeros(128_256, np.float32)
    ns: dict[str, list[int]] = {"C++": [], "Python": []}
    for _ in range(41):
        made = {
            "C++": tries.init(text, 1, compact=True),
            "Python": NativeTrie(libllama, flat, 1, compact=True).pointer,
        }
        for way, sampler in made.items():
            ns[way].append(step_ns(libllama, sampler, 5, row))
            libllama.llama_sampler_free(sampler)
    assert min(ns["Python"]) > 5 * min(ns["C++"])  # medians: 12 times


@pytest.mark.parametrize(
    ("of", "message"),
    [("compiler", r"needs a C\+\+ compiler"), ("source", "cannot compile it: .*error"),
     ("header", "llama.h: is not there")],
)  # fmt: skip
def test_what_is_missing_to_compile_it_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, of: str, message: str
) -> None:
    source = tmp_path / "token_trie.cpp"
    source.write_text("no C++")
    if of == "compiler":
        monkeypatch.setattr(shutil, "which", lambda _: None)
    if of == "header":
        monkeypatch.setattr(compiled, "default_folder", lambda: tmp_path / "a" / "b")
    with pytest.raises(InputError, match=message):
        Worker(source)
