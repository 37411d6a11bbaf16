"""The suite format: the cases of each block, and how a mistake in a file is reported."""

from pathlib import Path

import pytest

from sampler_parity.harness.checks.grid import fill
from sampler_parity.harness.checks.stages.block import ChainCase
from sampler_parity.harness.checks.stages.blocks.matrix import GeneratedHistory
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import expand, find_suites, suite_id
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import ROWS

TOP = 'name = "t"\n'
CASE = """
[[case]]
id = "a"
description = "a fact"
why = "a defect"
chain = [{ top_k = { k = 1 } }]
logits = { values = [1.0, 2.0] }
"""
MATRIX = """
[[matrix]]
id = "m"
description = "a fact about many"
why = "a defect"
chain = [{ top_p = { p = "$p", min_keep = "$min_keep" } }]
families = ["normal", "ties"]
sizes = [2, 5]
vary = { p = [0.5, 1.0], min_keep = [0, 1] }
"""
RANDOM = """
[[random_chains]]
id = "r"
description = "random chains"
why = "a defect"
count = 40
quick = 10
seed = 7
families = ["normal", "ties", "masked"]
sizes = [1, 2, 9]
max_steps = 4
scripts = ["plain", "clone"]
history = { length = 9, alphabet = 4 }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "sample.toml"
    path.write_text(TOP + text)
    return path


def test_find_suites_lists_a_folder_in_order() -> None:
    paths = find_suites(["parity"])
    assert [p.name for p in paths] == sorted(p.name for p in paths)
    assert {"top_p.toml", "chains.toml", "llama_cpp_tests.toml"} <= {p.name for p in paths}


def test_find_suites_takes_a_name_or_a_path_once(tmp_path: Path) -> None:
    path = written(tmp_path, CASE)
    paths = find_suites(["parity/top_p", str(path), "parity/top_p"])
    assert [suite_id(p) for p in paths] == ["parity/top_p", f"{tmp_path.name}/sample"]


def test_find_suites_says_what_exists_or_what_was_meant() -> None:
    with pytest.raises(InputError, match=r"zzz: no such suite - there are: .*parity, "):
        find_suites(["zzz"])
    with pytest.raises(InputError, match=r"parity/topp: no such suite - did you mean parity/top_p"):
        find_suites(["parity/topp"])


def test_expand_leaves_a_case_with_quick_false_to_the_full_profile(tmp_path: Path) -> None:
    path = written(tmp_path, CASE + "quick = false\n")
    assert (len(expand(path, "quick")), len(expand(path, "full"))) == (0, 1)


def test_expand_takes_the_product_of_a_matrix(tmp_path: Path) -> None:
    cases = expand(written(tmp_path, MATRIX), "full")
    assert len(cases) == 2 * 2 * 2 * 2
    assert cases[0].id == "sample/m/normal-V2-p0.5-min_keep0"
    assert cases[-1].id == "sample/m/ties-V5-p1.0-min_keep1"
    assert cases[-1].chain == [{"top_p": {"p": 1.0, "min_keep": 1}}]


def test_expand_restricts_the_quick_profile_to_the_union_of_its_subsets(tmp_path: Path) -> None:
    subsets = (
        'quick = [{ families = ["ties"], sizes = [2], vary = { p = [0.5] } },'
        ' { families = ["ties"], sizes = [2] }]\n'
    )
    path = written(tmp_path, MATRIX + subsets)
    quick = [case.id for case in expand(path, "quick")]
    assert quick == [
        "sample/m/ties-V2-p0.5-min_keep0",
        "sample/m/ties-V2-p0.5-min_keep1",
        "sample/m/ties-V2-p1.0-min_keep0",
        "sample/m/ties-V2-p1.0-min_keep1",
    ]
    assert set(quick) < {case.id for case in expand(path, "full")}


def test_expand_fills_in_the_vocabulary_size(tmp_path: Path) -> None:
    text = MATRIX.replace('top_p = { p = "$p", min_keep = "$min_keep" }', 'top_k = { k = "$k" }')
    text = text.replace(
        "vary = { p = [0.5, 1.0], min_keep = [0, 1] }", 'vary = { k = ["V", "V+1"] }'
    )
    cases = expand(written(tmp_path, text), "full")
    assert [case.chain[0]["top_k"]["k"] for case in cases[:4]] == [2, 3, 5, 6]
    assert cases[1].id == "sample/m/normal-V2-kV+1"


def test_fill_leaves_breakers_as_they_are() -> None:
    chain = [{"dry": {"dry_penalty_last_n": "V-1", "seq_breakers": ["V"]}}]
    assert fill(chain, {}, 9) == [{"dry": {"dry_penalty_last_n": 8, "seq_breakers": ["V"]}}]


PAIRS = """
[[pairs]]
id = "p"
description = "pairs"
why = "a defect"
families = ["normal"]
sizes = [4]
then = [{ dist = { seed = 1 } }]
[pairs.stages]
greedy = { greedy = {} }
cut = { top_k = { k = 2 } }
"""


def test_expand_pairs_every_stage_with_every_stage(tmp_path: Path) -> None:
    cases = expand(written(tmp_path, PAIRS), "full")
    assert [case.samplers for case in cases] == [
        ["greedy", "greedy", "dist"],
        ["greedy", "top_k", "dist"],
        ["top_k", "greedy", "dist"],
        ["top_k", "top_k", "dist"],
    ]
    assert cases[1].id == "sample/p/greedy+cut-normal-V4"


def test_expand_pairs_among_some_stages(tmp_path: Path) -> None:
    text = PAIRS.replace("then =", 'among = ["cut"]\nthen =')
    cases = expand(written(tmp_path, text), "full")
    assert [case.samplers[:2] for case in cases] == [
        ["greedy", "top_k"],
        ["top_k", "greedy"],
        ["top_k", "top_k"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "parity/dry",
        "parity/state",
        "parity/draws",
        pytest.param("parity/chains", marks=pytest.mark.nightly),
    ],
)
def test_expand_is_deterministic_and_full_contains_quick(name: str) -> None:
    (path,) = find_suites([name])
    full = {case.id: case for case in expand(path, "full")}
    quick = expand(path, "quick")
    assert all(full[case.id] == case for case in quick)
    assert quick == expand(path, "quick")


def test_expand_moves_random_chains_only_with_the_seed(tmp_path: Path) -> None:
    path = written(tmp_path, CASE + RANDOM)
    first, moved = expand(path, "quick"), expand(path, "quick", seed=3)
    assert first[0] == moved[0]
    assert [c.id for c in first[1:3]] == ["sample/r/7-0000", "sample/r/7-0001"]
    assert [c.id for c in moved[1:3]] == ["sample/r/10-0000", "sample/r/10-0001"]
    assert first[1].chain != moved[1].chain


@pytest.mark.parametrize("seed", [0, 500])
@pytest.mark.slow
def test_random_chains_are_never_refused_by_the_reference(seed: int) -> None:
    (path,) = find_suites(["parity/chains"])
    cases = [case for case in expand(path, "quick", seed) if "/random" in case.id]
    assert len(cases) > 100
    assert [case.id for case in cases if reference_trace(prepare(case))[1]] == []


def test_history_repeats_an_alphabet_or_draws_from_it() -> None:
    periodic = GeneratedHistory(length=5, alphabet=2, kind="periodic")
    assert periodic.tokens() == [0, 1, 0, 1, 0]
    drawn = GeneratedHistory(length=50, alphabet=3, seed=1).tokens()
    assert set(drawn) == {0, 1, 2}
    assert drawn == GeneratedHistory(length=50, alphabet=3, seed=1).tokens()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[[case]\n", "not TOML", id="syntax"),
        pytest.param(
            CASE + "kolor = 1\n",
            r"case 'a': kolor: Extra inputs are not permitted - remove it",
            id="unknown-key",
        ),
        pytest.param(
            CASE.replace("top_k", "top_q"),
            r"case 'a': chain: stage 1: unknown sampler 'top_q'",
            id="unknown-sampler",
        ),
        pytest.param(
            CASE.replace("k = 1", "k = 1.5"),
            r"case 'a': chain: .* k must be an integer, got 1.5",
            id="wrong-type",
        ),
        pytest.param(CASE + CASE, r"case 'a': duplicate id 'sample/a'", id="duplicate-id"),
        pytest.param(
            CASE.replace("values = [1.0, 2.0]", "value = [1.0]"),
            r"case 'a': logits.*: must be \{values\}, \{probs\}",
            id="unknown-logits",
        ),
        pytest.param(
            CASE
            + 'vocab = "bpe"\n'
            + "[[case]]\n"
            + CASE.split("[[case]]\n")[1]
            .replace('"a"', '"b"')
            .replace("values = [1.0, 2.0]", 'family = "normal", n = 304')
            + 'vocab = "bpe"\n',
            r"case 'b': logits: 304 are more than the 303 tokens of 'bpe' - use fewer",
            id="larger-than-vocabulary",
        ),
        pytest.param(
            MATRIX.replace("$min_keep", "$minkeep"),
            r"matrix 'm': vary.min_keep is not used",
            id="unused-vary",
        ),
        pytest.param(
            MATRIX + "quick = { sizes = [3] }\n",
            r"matrix 'm': quick.sizes: 3 is not in the grid",
            id="quick-outside-grid",
        ),
        pytest.param(
            MATRIX.replace("sizes = [2, 5]\n", ""),
            r"matrix 'm': give families and sizes, or logits, or golden and rows",
            id="no-logits",
        ),
        pytest.param(
            PAIRS.replace("then =", 'among = ["cat"]\nthen ='),
            r"pairs 'p': among: unknown stage cat; use",
            id="among-no-stage",
        ),
    ],
)
def test_expand_names_file_block_and_field(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=rf"sample\.toml: {message}") as error:
        expand(path, "full")
    assert "\n" not in str(error.value)


def test_expand_reports_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        expand(tmp_path / "none.toml", "quick")


def test_state_parameters_gives_every_parameter() -> None:
    """A reset or clone may forget one that is left at its default, and nothing shows it."""
    (path,) = find_suites(["parity/state"])
    cases = [case for case in expand(path, "quick") if isinstance(case, ChainCase)]
    chains = [case.chain for case in cases if case.id.startswith("state/parameters/")]
    stages = [stage for chain in chains for stage in chain]
    given = {(name, key) for stage in stages for name, keys in stage.items() for key in keys}
    of_vocabulary = {"vocab", "n_vocab"}
    needed = {
        (name, key)
        for name, row in ROWS.items()
        if row.edges is not None and not row.vocab
        for key in parameters_of(row.make)
        if key not in of_vocabulary
    }
    assert needed <= given
