"""The token trie as a llama_sampler: the effects of llama.cpp's own functions on it."""

import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie, NativeTrie, Worker, _living
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand_kind, find_suites, read_suite
from sampler_parity.reference import ChainError
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.trie import Leaf, build_trie
from tests.support.applied import Spec
from tests.support.tries import LEAF_LISTS, payload, stage_of, without_prefixes

LEAVES = (Leaf("THINK", (100, 101)), Leaf("EXECUTE", (200,)))


def chain_of(library: Libllama, *samplers: int) -> int:
    chain = int(library.llama_sampler_chain_init(library.llama_sampler_chain_default_params()))
    for sampler in samplers:
        library.llama_sampler_chain_add(chain, sampler)
    return chain


def apply(library: Libllama, sampler: int, ids: list[int], logits: list[float]) -> NativeCandidates:
    candidates = NativeCandidates(np.array(logits, np.float32))
    candidates.data["id"] = ids
    library.apply(sampler, candidates.array)
    return candidates


def test_a_chain_clones_and_frees_it(libllama: Libllama) -> None:
    before = set(_living)
    chain = chain_of(libllama, NativeTrie(libllama, FlatTrie(LEAVES), 0, compact=True).pointer)
    twin = libllama.llama_sampler_clone(chain)
    libllama.llama_sampler_accept(twin, 200)
    assert apply(libllama, twin, [1, 2], [1.0, 2.0]).array.size == 2
    assert apply(libllama, chain, [1, 100], [1.0, 2.0]).array.size == 1
    assert len(set(_living) - before) == 2
    for made in (chain, twin):
        libllama.llama_sampler_free(made)
    assert set(_living) == before


def test_it_warns_and_resets_after_500_tokens(
    libllama: Libllama, caplog: pytest.LogCaptureFixture
) -> None:
    trie = NativeTrie(libllama, FlatTrie((Leaf("a", (1, 2) * 250),)), 0, compact=False)
    with caplog.at_level(logging.WARNING):
        for i in range(500):
            assert trie.constrains
            libllama.llama_sampler_accept(trie.pointer, 1 + i % 2)
    assert not trie.active
    assert len(caplog.messages) == 1
    libllama.llama_sampler_free(trie.pointer)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trie_descriptor_json": "{"}, "is not valid JSON"),
        ({"trie_descriptor_json": payload([1, 2], [1])}, "is a prefix of"),
        ({"trie_descriptor_json": payload([60])}, "no token 60"),
        ({"model_id": "other"}, "the model is 'other'"),
        ({"mode": 7}, "mode must be in 0..1, got 7"),
    ],
    ids=["json", "prefix", "vocabulary", "model", "mode"],
)
def test_bad_input_is_refused_and_never_reaches_llama_cpp(
    changes: dict[str, object], message: str
) -> None:
    before = set(_living)
    with pytest.raises(ChainError, match=message):
        Worker().build([stage_of(payload([1, 2], [3]), 50, **changes)], 50, None)
    assert set(_living) == before


@pytest.mark.slow
@given(LEAF_LISTS.map(without_prefixes))
def test_the_flat_trie_has_the_nodes_of_the_references(leaves: tuple[Leaf, ...]) -> None:
    flat, todo = FlatTrie(leaves), [(0, build_trie(leaves))]
    seen = 0
    for at, node in todo:
        assert flat.children(at).tolist() == sorted(node.children)
        assert flat.forced(at) == list(node.forced())
        assert [flat.child(at, token) is None for token in range(7)] == [
            token not in node.children for token in range(7)
        ]
        for token, child in node.children.items():
            to = flat.child(at, token)
            assert to is not None
            todo.append((to, child))
        seen += 1
    assert len({at for at, _ in todo}) == seen == len(flat.start) - 1


TAILS: list[Spec] = [
    [],
    [{"top_k": {"k": 2}}],
    [{"top_p": {"p": 0.8}}],
    [{"min_p": {"p": 0.2}}],
    [{"temp": {"temp": 0.6}}],
]


@pytest.mark.slow
@given(
    leaves=LEAF_LISTS.map(without_prefixes),
    seed=st.integers(0, 2**16),
    tail=st.sampled_from(TAILS),
    mode=st.integers(0, 1),
)
@settings(deadline=None)
def test_masking_and_compacting_select_the_same_tokens(
    leaves: tuple[Leaf, ...], seed: int, tail: Spec, mode: int
) -> None:
    """To the bit where nothing sorts unequally, for a masked token adds exactly 0 to every sum."""
    end: Spec = [*tail, {"dist": {"seed": seed}}] if mode == 1 else []
    text = payload(*[list(leaf.tokens) for leaf in leaves])
    trie: dict[str, Any] = {"trie_descriptor_json": text, "mode": mode}
    chains = [
        build_chain([{"token_trie": {**trie, "compact": compact}}, *end])
        for compact in (False, True)
    ]
    rng = np.random.default_rng(seed)
    for _ in range(4):
        row = rng.normal(0, 3, 8).astype(np.float32)
        tokens = []
        for chain in chains:
            cand = Candidates.from_logits(row)
            chain.apply(cand)
            tokens.append(cand.token)
        assert tokens[0] == tokens[1]
        if tokens[0] is None:
            return
        for chain in chains:
            chain.accept(tokens[0])


BEHIND: dict[str, dict[str, Any]] = {
    "typical_p": {"p": 0.5},
    "mirostat": {"seed": 1, "tau": 3.0, "eta": 0.1},
    "temp_ext": {"temp": 0.8, "delta": 0.5},
    "mirostat_v2": {"seed": 1, "tau": 3.0, "eta": 0.1},
    "top_n_sigma": {"n": 1.0},
    "xtc": {"p": 1.0, "t": 0.05, "seed": 3},
    "adaptive_p": {"target": 0.4, "decay": 0.9, "seed": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHIND)
def test_three_samplers_take_masked_candidates_into_account(name: str) -> None:
    """llama.cpp's typical_p gets a NaN of them, mirostat and dynamic temperature count them: behind
    a trie that masks they select other tokens than behind one that compacts."""
    selects = name in ("mirostat", "mirostat_v2", "adaptive_p")
    differ = 0
    for seed in range(100):
        row = np.random.default_rng(seed).normal(0, 3, 1000).astype(np.float32)
        tail: list[dict[str, dict[str, Any]]] = [] if selects else [{"dist": {"seed": seed}}]
        tokens = []
        for compact in (False, True):
            trie = {"trie_descriptor_json": payload([1, 2], [3], [5]), "mode": 1}
            chain = build_chain(
                [{"token_trie": {**trie, "compact": compact}}, {name: BEHIND[name]}, *tail],
                n_vocab=1000,
            )
            cand = Candidates.from_logits(row)
            chain.apply(cand)
            tokens.append(cand.token)
        differ += tokens[0] != tokens[1]
    assert differ == {"typical_p": 14, "mirostat": 91, "temp_ext": 10}.get(name, 0)


@pytest.mark.parametrize(
    ("name", "decision"),
    [("token_trie/accept-ignored", "different"), ("token_trie/sorts-children", "equivalent")],
    ids=["stays-at-its-root", "another-order"],
)
def test_the_distribution_cells_see_other_tokens_and_not_another_order(
    name: str, decision: str
) -> None:
    """One planted fault changes the distribution; the other changes only which number draws which
    token.
    """
    (path,) = find_suites(["trie/law"])
    cells = {cell.id: cell for cell in expand_kind("distribution", read_suite(path), "quick")}
    with closing(InProcess(name)) as backend:
        result = execute_cell(cells["law/second-node"], [backend], Budget(1).each, seed=0)
    assert result.backends[backend.name].decision == decision


@pytest.mark.parametrize(
    "before",
    [[], [{"temp": {"temp": 0.7}}], [{"top_k": {"k": 300}}]],
    ids=["first", "temp", "top_k"],
)
def test_in_a_graph_the_trie_runs_on_the_cpu_on_what_the_graph_hands_back(
    tiny: Path, before: list[dict[str, dict[str, Any]]]
) -> None:
    """The samplers before it are in the model's graph; no device has a mask that goes round it."""
    worker = Worker()
    model = Model(worker.library, tiny)
    text = payload([20, 21], [30, 31], [40])
    trie = stage_of(text, model.n_vocab, mode=1, compact=True)
    built = worker.build([*before, trie, {"greedy": {}}], model.n_vocab, None)
    context = Context(model, 32, chains=[built.chain])
    plain = Context(model, 32)
    prompt = [317, 104]
    context.decode(prompt)
    token = worker.library.llama_sampler_sample(built.chain, context.pointer, -1)
    row = plain.decode(prompt)
    assert token == max((20, 30, 40), key=lambda t: row[t])
    context.close()
    plain.close()
