"""Samplers as in older releases: each change alone, any of them together, and builds."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.reference import (
    SAMPLERS,
    Candidates,
    Chain,
    ChainError,
    UndefinedInputError,
    build_chain,
)
from sampler_parity.reference.chronology import order
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.releases import CHANGES, changes_of, samplers_of
from sampler_parity.reference.samplers.dist import Dist
from tests.support.applied import WORDS, FixedWords, Spec, assert_as_native

NAMES = [change.name for change in CHANGES]
RELEASES = ["b3889", "b3995", "b4291", "b4435", "b4753", "b5590", "b6673", "b8352", "v0.4.0"]
BPE, SPM = (read_vocab(vocab_path(name)) for name in ("bpe", "spm"))


def chain_with(spec: Spec, *changes: str, **context: Any) -> Chain:
    return build_chain(spec, samplers=samplers_of(changes), **context)


def left(spec: Spec, logits: Any, *changes: str, **context: Any) -> Candidates:
    """The candidates after a chain with the old meanings of these changes."""
    cand = Candidates.from_logits(logits)
    chain_with(spec, *changes, n_vocab=len(cand), **context).apply(cand)
    return cand


def drawn(cand: Candidates, *changes: str, draws: int = 1) -> int | None:
    """The token of the last of several draws, their uniform numbers .135, .835, .969."""
    dist = chain_with([{"dist": {"seed": 0}}], *changes).samplers[0]
    assert isinstance(dist, Dist)
    dist.rng = FixedWords(*WORDS)
    for _ in range(draws - 1):
        dist.apply(Candidates.from_logits([0.0]))
    dist.apply(cand)
    return cand.token


# one change each ---------------------------------------------------------------------------------


def test_dist_drew_by_the_p_it_was_given() -> None:
    """The first uniform number, .135, is above .1, and below the softmax of 10 against 0."""
    for changes, token in ((("dist-no-softmax",), 1), ((), 0)):
        cand = Candidates.from_logits([10.0, 0.0])
        cand.p = np.array([0.1, 0.9], np.float32)
        assert drawn(cand, *changes) == token


def test_dist_sorted_the_candidates() -> None:
    assert left([{"dist": {"seed": 1}}], [0.0, 1.0], "dist-sorts").ids.tolist() == [1, 0]
    assert left([{"dist": {"seed": 1}}], [0.0, 1.0]).ids.tolist() == [0, 1]


# exp(-18) is below 2**-25: added one by one to 1 in float32, 4,096 of them are lost. In double, or
# before the 1, they sum to 6.24e-5, and 1 / 1.0000624 is .9999376.
LOST = [-18.0] * 4096


def test_dist_normalized_in_float32() -> None:
    assert left([{"dist": {"seed": 1}}], [0.0, *LOST], "dist-discrete").p[0] == 1
    assert left([{"dist": {"seed": 1}}], [0.0, *LOST]).p[0] == pytest.approx(0.9999376, abs=1e-7)


@pytest.mark.parametrize(("changes", "token"), [(["dist-one-no-draw"], 0), ([], 1)])
def test_dist_of_one_candidate_drew_nothing(changes: list[str], token: int) -> None:
    """.135 or, if one candidate took that, .835 between two equals."""
    assert drawn(Candidates.from_logits([0.0, 0.0]), *changes, draws=2) == token


def test_dist_of_one_candidate_drew_nothing_by_discrete_distribution_either() -> None:
    equals = [Candidates.from_logits([0.0, 0.0]) for _ in range(2)]
    assert drawn(equals[0], "dist-discrete", "dist-one-no-draw", draws=2) == 0
    assert drawn(equals[1], "dist-discrete", draws=2) == 1


@pytest.mark.parametrize(
    ("stage", "also"),
    [
        ({"dist": {"seed": 1}}, "dist-sorts"),
        ({"top_p": {"p": 0.999}}, "top-p-sorts-first"),
        ({"top_p": {"p": 0.999}}, "std-sort"),
        ({"min_p": {"p": 2.0, "min_keep": 16}}, "std-sort"),
        ({"temp_ext": {"temp": 1.0, "delta": 0.5}}, "std-sort"),
        ({"top_n_sigma": {"n": 1.0}}, "top-n-sigma-softmax"),
        ({"mirostat_v2": {"seed": 1}}, "std-sort"),
    ],
)
def test_sixteen_equals_were_sorted_by_insertion(stage: dict[str, Any], also: str) -> None:
    """std::sort leaves up to sixteen equals as they stand; the heap of partial_sort does not."""
    by_heap = left([{"top_k": {"k": 16}}], [1.0] * 16).ids.tolist()
    assert by_heap != list(range(16))
    old = left([stage], [1.0] * 16, "std-sort", also)
    assert (old.ids.tolist(), old.sorted) == (list(range(16)), True)
    assert left([stage], [1.0] * 16, *{also} - {"std-sort"}).ids.tolist() == by_heap


def test_the_samplers_that_keep_one_of_sixteen_equals_kept_another() -> None:
    """mirostat: equals have no slope, so k = 1, the first. xtc keeps the last."""
    by_heap = left([{"top_k": {"k": 16}}], [1.0] * 16).ids.tolist()
    for stage, at in (
        ({"mirostat": {"seed": 1}}, 0),
        ({"xtc": {"p": 1.0, "t": 0.01, "seed": 1}}, -1),
    ):
        assert left([stage], [1.0] * 16, "std-sort").ids.tolist() == [range(16)[at]]
        assert left([stage], [1.0] * 16).ids.tolist() == [by_heap[at]]


def test_top_k_of_zero_sorted() -> None:
    assert left([{"top_k": {"k": 0}}], [1.0, 3.0, 2.0], "top-k-0-sorts").ids.tolist() == [1, 2, 0]
    assert left([{"top_k": {"k": 0}}], [1.0, 3.0, 2.0]).ids.tolist() == [0, 1, 2]


def test_top_p_summed_in_sorted_order() -> None:
    assert len(left([{"top_p": {"p": 0.99995}}], [*LOST, 0.0], "top-p-sorts-first")) == 1
    assert len(left([{"top_p": {"p": 0.99995}}], [*LOST, 0.0])) > 1


def test_min_p_kept_none() -> None:
    assert len(left([{"min_p": {"p": 2.0}}], [0.0, 1.0], "min-p-keeps-none")) == 0
    assert left([{"min_p": {"p": 2.0}}], [0.0, 1.0]).ids.tolist() == [1]


def test_typical_p_without_min_keep_kept_all() -> None:
    """The first of two equal tokens alone exceeds .4."""
    assert len(left([{"typical_p": {"p": 0.4}}], [0.0, 0.0], "typical-p-0-keeps-all")) == 2
    assert len(left([{"typical_p": {"p": 0.4}}], [0.0, 0.0])) == 1
    stage = {"typical_p": {"p": 0.4, "min_keep": 1}}
    assert len(left([stage], [0.0, 0.0], "typical-p-0-keeps-all")) == 1


@pytest.mark.parametrize("name", ["temp", "temp_ext"])
@pytest.mark.parametrize(
    ("temp", "old"), [(0.0, [np.inf, -np.inf]), (-1.0, [-1.0, 2.0])], ids=["zero", "negative"]
)
def test_temp_of_zero_or_less_divided(name: str, temp: float, old: list[float]) -> None:
    spec: Spec = [{name: {"temp": temp}}]
    assert left(spec, [1.0, -2.0], "temp-0-divides").logits.tolist() == old
    assert left(spec, [1.0, -2.0]).logits.tolist() == [1.0, -np.inf]


def test_dynamic_temp_of_zero_divided() -> None:
    """p = 1 and 0: the entropy is 0, and so is the temperature."""
    spec: Spec = [{"temp_ext": {"temp": 0.5, "delta": 0.5}}]
    np.testing.assert_equal(left(spec, [1.0, -200], "temp-0-divides").logits, [np.inf, -np.inf])
    np.testing.assert_equal(left(spec, [1.0, -200]).logits, [1.0, -np.inf])


def test_top_n_sigma_of_zero_masked_all_but_the_largest() -> None:
    spec: Spec = [{"top_n_sigma": {"n": 0.0}}]
    assert left(spec, [3.0, 2.0], "top-n-sigma-never-off").logits.tolist() == [3.0, -np.inf]
    assert left(spec, [3.0, 2.0]).logits.tolist() == [3.0, 2.0]


def test_top_n_sigma_masked_nothing_where_one_was_masked() -> None:
    """The mean and the deviation of 1 and 0 are .5: 0 is below 1 - .5 * .5."""
    spec: Spec = [{"top_n_sigma": {"n": 0.5}}]
    masked = [-np.inf, 1.0, 0.0]
    assert left(spec, masked, "top-n-sigma-counts-inf").logits.tolist() == masked
    assert left(spec, masked).logits.tolist() == [-np.inf, 1.0, -np.inf]


def test_top_n_sigma_sorted_and_wrote_p() -> None:
    """The mean and the deviation of 0 and log 3 are both half of log 3: nothing is below."""
    spec: Spec = [{"top_n_sigma": {"n": 3.0}}]
    old = left(spec, [0.0, np.log(3)], "top-n-sigma-softmax")
    assert (old.ids.tolist(), old.sorted) == ([1, 0], True)
    assert old.p == pytest.approx([0.75, 0.25])
    assert left(spec, [0.0, np.log(3)]).p.tolist() == [0, 0]


@pytest.mark.parametrize(("changes", "anew"), [(["mirostat-clone-anew"], True), ([], False)])
def test_a_clone_of_mirostat_began_anew(changes: list[str], anew: bool) -> None:
    """After one draw the clone draws as the first time, or as its original goes on."""

    def draw(chain: Chain) -> tuple[int | None, float]:
        cand = Candidates.from_logits(np.linspace(0, 3, 40))
        chain.apply(cand)
        return cand.token, float(vars(getattr(chain.samplers[0], "today", chain.samplers[0]))["mu"])

    chain = chain_with([{"mirostat": {"seed": 1, "tau": 3.0}}], *changes, n_vocab=40)
    first = draw(chain)
    twin = chain.clone()
    second = draw(chain)
    assert first != second
    assert draw(twin) == (first if anew else second)


@pytest.mark.parametrize(
    ("changes", "logits"),
    [
        # token 1 entered the window before the clone and left it after: -1. Token 0 came back to 0,
        # which takes nothing, and no present penalty either. Token 2 is counted as it should be.
        (["penalties-clone-uncounted"], [0.0, 1.0, -1.5]),
        # the window is 0, 2
        ([], [-1.5, 0.0, -1.5]),
    ],
)
def test_a_clone_of_penalties_had_no_counts(changes: list[str], logits: list[float]) -> None:
    spec: Spec = [{"penalties": {"penalty_last_n": 2, "penalty_freq": 1, "penalty_present": 0.5}}]
    chain = chain_with(spec, *changes)
    for token in (0, 1):
        chain.accept(token)
    twin = chain.clone()
    for token in (0, 2):
        twin.accept(token)
    cand = Candidates.from_logits([0.0, 0.0, 0.0])
    twin.apply(cand)
    assert cand.logits.tolist() == logits
    twin.reset()
    twin.accept(1)
    cand = Candidates.from_logits([0.0, 0.0, 0.0])
    twin.apply(cand)
    assert cand.logits.tolist() == [0.0, -1.5, 0.0]


def dry_after(history: list[int], parameters: dict[str, Any], *changes: str) -> list[float]:
    chain = chain_with([{"dry": {"dry_multiplier": 1.0, "dry_base": 2.0, **parameters}}], *changes)
    for token in history:
        chain.accept(token)
    cand = Candidates.from_logits([0.0] * 4)
    chain.apply(cand)
    return list(cand.logits.tolist())


def test_dry_of_minus_one_searched_the_context() -> None:
    """1 2 after 1 2 3 1 2: 3 followed the last two tokens before."""
    history, minus_one = [1, 2, 3, 1, 2], {"dry_penalty_last_n": -1}
    assert dry_after(history, minus_one, "dry-context") == [0.0, 0.0, 0.0, -1.0]
    assert dry_after(history, minus_one | {"n_ctx_train": 4}, "dry-context") == [0.0] * 4
    assert dry_after(history, {"n_ctx_train": 4}, "dry-context") == [0.0] * 4
    assert dry_after(history, minus_one) == [0.0] * 4


def test_dry_below_minus_one_could_not_take_a_token() -> None:
    with pytest.raises(UndefinedInputError, match=r"^dry with dry_penalty_last_n below -1"):
        dry_after([1], {"dry_penalty_last_n": -2}, "dry-context")
    assert dry_after([], {"dry_penalty_last_n": -2}, "dry-context") == [0.0] * 4
    off = {"dry_penalty_last_n": -2, "dry_multiplier": 0.0}
    assert dry_after([1], off, "dry-context") == [0.0] * 4


def test_dry_refused_a_breaker_that_a_token_cuts_within_a_character() -> None:
    """Byte-level BPE has a token for the first of the two bytes of e acute; SentencePiece falls
    back on bytes only after it has read a character."""
    spec: Spec = [{"dry": {"dry_multiplier": 1.0, "seq_breakers": ["é"]}}]
    with pytest.raises(UndefinedInputError, match=r"^dry breaker 'é' is cut within a character"):
        chain_with(spec, "dry-broken-character", vocab=BPE)
    for changes, vocab in ((("dry-broken-character",), SPM), ((), BPE)):
        chain_with(spec, *changes, vocab=vocab)
    for parameters in ({"seq_breakers": ["e\n"]}, {"dry_multiplier": 0.0}):
        chain_with([{"dry": spec[0]["dry"] | parameters}], "dry-broken-character", vocab=BPE)


def test_dry_could_not_be_cloned() -> None:
    with pytest.raises(UndefinedInputError, match=r"^dry is cloned"):
        chain_with([{"dry": {"dry_multiplier": 1.0}}], "dry-no-clone").clone()


def test_infill_without_an_eot_token_ended_with_no_token() -> None:
    """A thousand equals: none has a fifth. SPM has no EOT; its EOS is 2."""
    logits = np.zeros(len(SPM), np.float32)
    logits[2] = -30.0
    assert left([{"infill": {}}], logits, "infill-no-eos", vocab=SPM).ids.tolist() == [-1]
    assert left([{"infill": {}}], logits, vocab=SPM).ids.tolist() == [2]


# sets of changes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_a_change_touches_its_samplers_and_no_other(change: Any) -> None:
    samplers = samplers_of([change])
    assert {name for name in SAMPLERS if samplers[name] is not SAMPLERS[name]} == set(
        change.samplers
    )


def test_no_change_leaves_the_samplers_of_today() -> None:
    assert dict(samplers_of([])) == REFERENCE_SAMPLERS


def test_an_unknown_change_is_refused() -> None:
    with pytest.raises(ChainError, match=r"^unknown change 'dist-dances'; known: dist-no-softmax"):
        samplers_of(["dist-dances"])


# releases ----------------------------------------------------------------------------------------


def test_releases_sort_by_age() -> None:
    assert order("b3889") < order("b10405") < order("v0.4.0") < order("v0.5.0") < order("v0.10.0")
    assert order("v0.5.0") == order("b11146") < order("b11549") < order("v0.6.0")
    with pytest.raises(ChainError, match=r"^release 'v0.1.0' has no known build number"):
        order("v0.1.0")
    with pytest.raises(ChainError, match=r"^release 'latest' is not a release"):
        order("latest")


@pytest.mark.parametrize("change", CHANGES, ids=NAMES)
def test_a_change_is_in_force_from_first_old_to_last_old(change: Any) -> None:
    assert order(change.first_old) <= order(change.last_old) < order(change.first_new)
    for release in ("b3889", "b3995", "b4291", "b4435", "b4753", "b5590", "b8352", "v0.5.0"):
        in_force = order(change.first_old) <= order(release) <= order(change.last_old)
        assert (change in changes_of(release)) is in_force


def test_the_newest_release_has_no_old_meaning() -> None:
    assert changes_of("v0.5.0") == ()
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        ("b3888", r"^release b3888 is not supported: choose one from b3889 to b11549$"),
        ("v0.5.1", r"^release v0.5.1 is not supported: choose one from b3889 to b11549$"),
        (
            "b6400",
            r"^release b6400: it is unknown whether it has dist-sorts, .* after b6301 and by",
        ),
        ("b6400", r"Judge it by either: --reference b6301, --reference b6431$"),
    ],
)
def test_a_release_whose_meaning_is_not_known_is_refused(release: str, problem: str) -> None:
    with pytest.raises(ChainError, match=problem):
        build_chain([{"dist": {"seed": 1}}], release=release)


def test_one_uncertain_sampler_leaves_the_others_of_its_release_certain() -> None:
    """For b6400 the draw of dist is uncertain, but penalties and top_k are known."""
    build_chain([{"top_k": {"k": 2}}], release="b6400")
    assert [c.name for c in changes_of("b6400", ["penalties"])] == ["penalties-clone-uncounted"]
    with pytest.raises(ChainError, match="dist-sorts"):
        changes_of("b6400", ["top_k", "dist"])


def test_a_chain_of_a_release_has_its_meanings() -> None:
    """Each release between two changes, on one chain: k = 0 sorts, a draw sorts, one draws none."""
    cand = Candidates.from_logits([1.0, 3.0, 2.0])
    for release, ids in (("b4753", [1, 2, 0]), ("b5590", [0, 1, 2])):
        cand = Candidates.from_logits([1.0, 3.0, 2.0])
        build_chain([{"top_k": {"k": 0}}], release=release).apply(cand)
        assert cand.ids.tolist() == ids


# builds ------------------------------------------------------------------------------------------

CHAINS: list[Spec] = [
    [{"top_k": {"k": 0}}, {"dist": {"seed": 7}}],
    [{"top_p": {"p": 0.9}}, {"typical_p": {"p": 0.8}}, {"dist": {"seed": 7}}],
    [{"min_p": {"p": 0.2}}, {"temp": {"temp": 0.0}}, {"dist": {"seed": 7}}],
    [{"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.3}}, {"mirostat_v2": {"seed": 7}}],
    [{"xtc": {"p": 0.5, "t": 0.1, "seed": 7}}, {"dist": {"seed": 7}}],
    [{"top_n_sigma": {"n": 0.0}}, {"dist": {"seed": 7}}],
    [{"dry": {"dry_multiplier": 1.0, "dry_penalty_last_n": -1}}, {"dist": {"seed": 7}}],
]


@pytest.mark.parametrize("release", RELEASES)
def test_the_meaning_of_a_release_is_that_of_its_build(release: str) -> None:
    """Equal logits, so that the order of ties shows; five steps, so that the streams do."""
    if recorded.find(release) is None:
        pytest.skip(f"the build {release} is not in the cache")
    logits = np.round(np.sin(np.arange(200)) * 4)
    with closing(registry.start(f"llama.cpp@{release}")) as backend:
        has = set(backend.hello().samplers)
        for spec in CHAINS:
            if {name for stage in spec for name in stage} <= has:
                assert_as_native(backend, spec, logits, steps=5, release=release)
