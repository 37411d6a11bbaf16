"""The trie benchmark: its arithmetic by hand, and the whole of it on a small model."""

from contextlib import closing
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.trie import exact
from sampler_parity.harness.trie.bench import Bench, agreement, measure, ratio, run, tokens_per_s
from sampler_parity.harness.trie.exact import divergence
from sampler_parity.harness.trie.grammar import Span, prefix_free
from sampler_parity.harness.trie.session import Session
from sampler_parity.harness.trie.workloads import (
    leaf_texts,
    read_descriptor,
    text_grammar,
    token_grammar,
)
from sampler_parity.reference.trie import Leaf, build_trie, count_nodes
from tests.support.command_line import cli
from tests.support.tries import payload

SEED_FIELDS = ["mode", "model", "skip_ratio_mean", "skip_ratio_std", "tokens_per_second"]
SEED_FIELDS += ["tokens_per_second_vs_grammar", "token_accuracy"]
SEED_FIELDS += ["forward_passes_saved", "forward_passes_total"]


def span(n: int, ns: int) -> Span:
    return Span(tuple(range(n)), ns, [1] * n, [1] * n)


def test_tokens_per_second_is_of_totals() -> None:
    assert tokens_per_s([span(3, 10**9), span(1, 3 * 10**9)]) == 1.0


def test_the_interval_of_a_ratio_holds_what_its_pairs_vary_by() -> None:
    pairs = [(span(4, 10**6), span(4, k * 10**6)) for k in (2, 2, 2, 4, 4, 4)]
    middle, (low, high) = ratio(pairs, seed=0)
    assert middle == pytest.approx(3)
    assert 2 <= low < 2.8
    assert 3.2 < high <= 4


def test_agreement_counts_positions_of_the_longer() -> None:
    assert agreement([(1, 2)], [(1, 3, 4)]) == pytest.approx(1 / 3)
    assert agreement([(1,), (2,)], [(1,), (2,)]) == 1


def test_a_generation_is_done_at_texts_that_no_other_goes_on_from() -> None:
    assert prefix_free({b"A", b"AB", b"C"}) == {b"AB", b"C"}


@pytest.mark.parametrize(("name", "n"), [("actions", 30), ("tools", 30), ("enum:37", 37)])
def test_workloads_have_as_many_leaves_as_they_say(name: str, n: int) -> None:
    texts = {text.encode() for text in leaf_texts(name)}
    assert len(texts) == n
    assert prefix_free(texts) == texts


def test_the_seeds_workload_has_four_tokens_a_leaf_and_shares_a_third() -> None:
    leaves = tuple(Leaf(text, tuple(text.encode())) for text in leaf_texts("actions"))
    assert {len(leaf.tokens) for leaf in leaves} == {4}
    assert 1 - (count_nodes(build_trie(leaves)) - 1) / 120 == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["enum:1", "enum:10001", "enum:x", "nothing"])
def test_a_workload_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="use actions, tools, json, enum:2 to enum:10000"):
        read_descriptor(name, "m", lambda text: list(text.encode()))


def test_a_file_that_is_no_payload_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    with pytest.raises(InputError, match=r"d.json: cannot be read"):
        read_descriptor(str(path), "m", list)  # type: ignore[arg-type]
    path.write_text("{")
    with pytest.raises(InputError, match=r"d.json: trie_descriptor_json is not valid JSON"):
        read_descriptor(str(path), "m", list)  # type: ignore[arg-type]


def test_grammars_quote_what_gbnf_would_read_otherwise() -> None:
    assert text_grammar(['a"b\\', "c\n"]) == 'root ::= "a\\"b\\\\" | "c\\x0A"'
    assert token_grammar([(1, 2), (3,)]) == "root ::= <[1]> <[2]> | <[3]>"


def test_divergence_is_kullback_leiblers() -> None:
    assert divergence([1, 1], [0.5, 0.5]) == 0
    assert divergence([3, 1], [0.5, 0.5]) == pytest.approx(0.75 * log(1.5) + 0.25 * log(0.5))
    assert divergence([1, 0], [0.5, 0.5]) == pytest.approx(log(2))


class Rows:
    """A context whose next token's probabilities depend on the last token alone."""

    def __init__(self, rows: dict[int, list[float]]) -> None:
        self.rows, self.length, self.library, self.pointer = rows, 0, self, 0

    def decode(self, tokens: list[int]) -> NDArray[np.float32]:
        self.length += len(tokens)
        return np.log(np.array(self.rows[tokens[-1]], np.float32))

    def llama_get_memory(self, _: int) -> int:
        return 0

    def llama_memory_seq_rm(self, *_: int) -> bool:
        return True


class Letters:
    """Tokens 0 .. 3 are a, b, ab and c; 4 is what the prompt ends with."""

    def __len__(self) -> int:
        return 5

    def piece(self, token: int) -> bytes:
        return [b"a", b"b", b"ab", b"c", b""][token]


def test_the_distribution_of_masks_and_of_the_model_by_hand() -> None:
    """Leaves ab = [2] and ac = [0, 3]; a grammar takes [0, 1] for ab, too.

    The model: after the prompt a 0.2, ab 0.3; after a: b 0.1, c 0.4.
    Trie: p(ab) = 0.3 and p(ac) = 0.2 * 0.4 = 0.08 of 0.38; by masks 0.3 / 0.5 and 0.2 / 0.5.
    Texts: ab 0.3 + 0.2 * 0.1 = 0.32 and ac 0.08; by masks 0.6 + 0.4 * 0.2 and 0.4 * 0.8.
    """
    context: Any = Rows({4: [0.2, 0.1, 0.3, 0.1, 0.3], 0: [0.3, 0.1, 0.1, 0.4, 0.1]})
    vocab: Any = Letters()
    known = exact.divergences(context, vocab, [4], (Leaf("ab", (2,)), Leaf("ac", (0, 3))))
    assert known.kl_trie == pytest.approx(divergence([0.3, 0.08], [0.6, 0.4]), rel=1e-5)
    assert known.kl_grammar == pytest.approx(divergence([0.32, 0.08], [0.68, 0.32]), rel=1e-5)
    assert known.spellings == 3
    assert known.beyond_trie == pytest.approx(1 / 3)
    assert context.length == 0


def test_too_many_spellings_are_counted_and_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_SPELLINGS", 2)
    context: Any = Rows({})
    vocab: Any = Letters()
    known = exact.divergences(context, vocab, [4], (Leaf("ab", (2,)), Leaf("ac", (0, 3))))
    assert (known.kl_trie, known.kl_grammar, known.spellings) == (None, None, 3)


@pytest.mark.slow
def test_the_trie_takes_what_llama_cpps_grammar_takes_of_its_own_tokens(tiny: Path) -> None:
    with closing(Bench(str(tiny), "enum:40", ("one", "two"))) as bench:
        result = run(bench, "strict-trie-ffi", rounds=1, seed=0)
    assert list(Measured.model_fields)[: len(SEED_FIELDS)] == SEED_FIELDS
    assert (result.token_accuracy, result.text_accuracy) == (1, 1)
    assert result.forward_passes_total == 4
    assert 0 <= result.forward_passes_saved <= 2
    assert (result.leaves, result.pairs) == (40, 2)
    assert 0.8 < result.skip_ratio_mean < 1
    assert (result.skip_ratio_exact, result.skip_ratio_off) == (result.skip_ratio_mean, 0)
    assert Measured.model_validate_json(result.model_dump_json()) == result


@pytest.mark.slow
def test_the_grammars_alone_agree_and_save_nothing(tiny: Path) -> None:
    with closing(Bench(str(tiny), "actions", ("one",))) as bench:
        result = run(bench, "strict-guided", rounds=1, seed=0)
    assert sorted(result.ways) == ["grammar_first", "grammar_resample"]
    assert (result.token_accuracy, result.forward_passes_saved) == (1, 0)
    assert result.tokens_per_second_vs_grammar == 1


def test_the_compiled_trie_writes_the_same_leaves_for_less(tiny: Path) -> None:
    measured = []
    for compiled in (False, True):
        with closing(Bench(str(tiny), "enum:40", ("one", "two"), compiled=compiled)) as bench:
            measured.append(run(bench, "strict-trie-ffi", rounds=1, seed=0))
    of_python, of_cpp = measured
    assert of_cpp.token_accuracy == 1
    assert of_cpp.skip_ratio_off == 0
    assert of_cpp.skip_ratio_mean == of_python.skip_ratio_mean
    assert of_cpp.forward_passes_saved == of_python.forward_passes_saved
    assert of_cpp.own_us_per_step.compacting < of_python.own_us_per_step.compacting


def test_the_compiled_trie_is_refused_with_another_build() -> None:
    done = cli("trie-bench", "--mode", "strict-trie-ffi", "--trie", "compiled", "--build", "b4753")
    assert done.returncode == 2
    assert "--trie compiled: uses the installed llama.cpp - omit --build" in done.stderr


def test_a_wrong_trie_is_not_accurate(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a session that goes on with another leaf than the one it sampled."""
    real = Session.generate

    def wrong(self: Session, *args: Any, **options: Any) -> Any:
        done = real(self, *args, **options)
        done.tokens[-1] = ord("x")
        return done

    with closing(Bench(str(tiny), "enum:40", ("one",))) as bench:
        right = measure(bench, "strict-trie-ffi", 1, 0)["trie"][0][0].tokens
        monkeypatch.setattr(Session, "generate", wrong)
        spans = measure(bench, "strict-trie-ffi", 1, 0)
    assert agreement([spans["trie"][0][0].tokens], [right]) == 0.5
    assert spans["grammar_first"][0][0].tokens == right


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (payload([1, 2], model="other"), "is for 'other', the model is 'tiny'"),
        (payload([320], model="tiny"), "has no token 320"),
        (payload([200], model="tiny"), "is not UTF-8"),
    ],
    ids=["model", "vocabulary", "utf-8"],
)
def test_a_descriptor_that_does_not_fit_the_model_is_refused(
    tiny: Path, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Bench(str(tiny), str(path))


def test_a_grammar_that_llama_cpp_cannot_read_is_refused(tiny: Path) -> None:
    with (
        closing(Bench(str(tiny), "actions", ("one",), grammar="root ::= missing")) as bench,
        pytest.raises(InputError, match="grammar"),
    ):
        measure(bench, "strict-guided", 1, 0)
