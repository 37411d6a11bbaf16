"""In-graph sampling: the specification by hand, and llama.cpp's graph against it."""

import functools
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.generation.graph import width_of
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.graph import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.server import answer
from sampler_parity.harness.suite.file import expand, suites_folder
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference import UndefinedInputError, floats, sorting
from sampler_parity.reference.pipelines import graph_samplers as llama_graph
from sampler_parity.reference.pipelines.graph_samplers import (
    GraphChain,
    Sampled,
    may_select,
    select,
)
from sampler_parity.reference.random import Mt19937
from tests.support.inside import Inside, case_of, result_of
from tests.support.tiny_model import write_tiny_model

Stage = dict[str, dict[str, Any]]

DIST: Stage = {"dist": {"seed": 1}}
TOP_K: Stage = {"top_k": {"k": 40}}
FIRST = "-docs-01.25"
ACCEPT: list[Accept] = ["identical", "correct"]


def sampled(chain: p.ChainSpec, logits: list[float]) -> Sampled:
    return GraphChain(build_chain(chain)).apply(np.array(logits, np.float32))


def p_of(*values: float) -> llama_graph.Floats:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("p", "u", "place"),
    [
        # sums 1/2, 3/4, 1; the CPU's dist takes the first sum >= u, which is 0 here
        ([0.5, 0.25, 0.25], 0.5, 1),
        ([0.5, 0.25, 0.25], 0.49, 0),
        ([0.5, 0.5, 0.0], 1.0, 2),
        ([math.nan, math.nan], 0.1, 1),
        # 1/2 + 2**-26 is 1/2 in float32: nothing is greater than u, and the last is selected
        ([0.5] + [2.0**-26] * 1000, 0.5, 1000),
    ],
    ids=["equals u", "above u", "the last has p = 0", "nan", "lost in float32"],
)
def test_the_first_sum_above_u_is_selected_else_the_last(
    p: list[float], u: float, place: int
) -> None:
    assert select(p_of(*p), np.float32(u)) == place


def test_another_order_of_summing_may_select_a_neighbour_and_nothing_further() -> None:
    p, u = p_of(0.5, 0.25, 0.0, 0.25), np.float32(0.5 + 5e-6)
    assert [may_select(p, u, at) for at in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("chain", "aborts"),
    [
        ([{"top_k": {"k": 3}}], "top_k of 3 from 2"),
        ([{"top_k": {"k": 2}}, {"logit_bias": {"logit_bias": [[0, 1.0]]}}], "after top_k"),
        ([{"logit_bias": {"logit_bias": [[2, 1.0]]}}], "a bias for 2 of 2"),
    ],
    ids=["top_k", "column", "position"],
)
def test_where_llama_cpp_aborts_the_specification_refuses(chain: p.ChainSpec, aborts: str) -> None:
    with pytest.raises(UndefinedInputError, match=aborts):
        sampled(chain, [1.0, 2.0])


@pytest.fixture(scope="module")
def worker() -> Worker:
    return Worker()


@pytest.fixture
def inside(inside: Callable[..., Inside]) -> Callable[..., Inside]:
    return partial(inside, name="llama.cpp/graph")


@functools.cache
def suite_cases(file: str, prompt: str) -> list[Any]:
    left_out = ("/abort", "/large/")  # another model, or the end of this process
    return [
        case.model_copy(update={"steps": min(case.steps, 16)})
        for case in expand(suites_folder() / "graph" / file, "full")
        if case.id.endswith(prompt) and not any(part in case.id for part in left_out)
    ]


@pytest.mark.slow
def test_every_chain_is_predicted_on_the_cpu_with_its_own_order_and_without_tolerance(
    inside: Callable[..., Inside],
) -> None:
    backend = inside()
    cases = suite_cases("samplers.toml", FIRST) + suite_cases("findings.toml", "-hello")
    assert len(cases) == 16 + 7 + 11
    for case in cases:
        result = result_of(case, backend)
        assert result.verdict in case.required(backend.name), case.id
        assert (result.values["by_rounding"], result.values["in_other_order"]) == (0, 0), case.id


@pytest.mark.parametrize(
    ("chain", "cause"),
    [
        ("order/top_k", "order"),
        ("order/temp_ext", "order"),
        ("meaning/greedy_after_top_k", "position"),
        ("meaning/min_p_of_one", "outside"),
        ("meaning/removed_token_is_drawn", "outside"),
        ("meaning/min_p_min_keep", "candidates"),
        ("meaning/temp_ext_after_top_p", "probabilities"),
    ],
)
@pytest.mark.slow
def test_the_cause_of_another_token_is_named(
    chain: str, cause: str, inside: Callable[..., Inside]
) -> None:
    cases = suite_cases("samplers.toml", FIRST) + suite_cases("findings.toml", "-hello")
    (case,) = [c for c in cases if f"/{chain}-" in c.id]
    result = result_of(case, inside())
    assert (result.verdict, result.what) == ("explained", cause)


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model whose logits are all equal."""
    path = tmp_path_factory.mktemp("equal") / "ties.gguf"
    write_tiny_model(path, scale=0.0)
    return path


@pytest.mark.parametrize("k", [1, 2, 40, 319, 320])
@pytest.mark.slow
def test_a_model_whose_logits_are_all_equal_is_predicted_ties_and_all(
    k: int, inside: Callable[..., Inside], equal: Path
) -> None:
    backend = inside()
    chains: list[p.ChainSpec] = [
        [{"greedy": {}}],
        [{"temp": {"temp": 0.0}}, DIST],
        [{"top_k": {"k": k}}, DIST],
        [{"top_p": {"p": 0.5}}, DIST],
        [{"top_k": {"k": k}}, {"top_p": {"p": 0.5}}, {"min_p": {"p": 0.1}}, DIST],
    ]
    for chain in chains:
        result = result_of(case_of(equal, chain, 8), backend)
        assert result.verdict in ("identical", "boundary", "explained"), (chain, result)
        assert (result.values["by_rounding"], result.values["in_other_order"]) == (0, 0)


def test_greedy_on_equal_logits_leaves_the_cpu_for_the_last_token(
    inside: Callable[..., Inside], equal: Path
) -> None:
    case, backend = case_of(equal, [{"greedy": {}}], 2), inside()
    result = result_of(case, backend)
    assert (result.verdict, result.values["got"], result.values["expected"]) == ("boundary", 319, 0)
    with accepting("correct"):
        assert result_of(case, backend).verdict == "correct"


def test_another_meaning_in_the_graph_is_not_correct(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    with accepting("correct"):
        result = result_of(case_of(tiny, [TOP_K, {"greedy": {}}], 4), inside())
    assert (result.verdict, result.what) == ("explained", "position")


@pytest.mark.parametrize("n", [100, 100_000])
def test_the_width_of_a_decision_follows_the_stated_arithmetic(n: int) -> None:
    row, tree = np.zeros(n, np.float32), Arithmetic(summation="pairwise")
    double = Arithmetic(logits="float64", probabilities="float64", sums="float64")
    unknown, by_tree, exact = (width_of(row, one) for one in (Arithmetic(), tree, double))
    assert n * 2.0**-24 < unknown < 3 * n * 2.0**-24 + 1e-5
    assert by_tree < 1e-5
    assert exact < 1e-6
    assert width_of(row, None) == llama_graph.WIDTH


def test_a_sampler_on_the_cpu_gets_what_the_graph_left(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    xtc = {"xtc": {"p": 0.5, "t": 0.05, "min_keep": 1, "seed": 3}}
    result = result_of(case_of(tiny, [TOP_K, xtc, DIST], 40), inside())
    assert result.verdict in ("identical", "boundary", "explained")
    assert (result.values["in_graph"], result.values["on_cpu"]) == (["top_k"], ["xtc", "dist"])


# Planted faults: each is caught, and at its place.


def other_token(reply: p.GenerateReply) -> p.GenerateReply:
    tokens = [*reply.tokens]
    tokens[3] = (tokens[3] + 1) % 320
    return reply.model_copy(update={"tokens": tokens})


@pytest.mark.parametrize("accept", ACCEPT)
def test_another_token_than_the_one_drawn_is_diverged(
    accept: Accept, tiny: Path, inside: Callable[..., Inside]
) -> None:
    with accepting(accept):
        result = result_of(case_of(tiny, [DIST]), inside(edit=other_token))
    assert (result.verdict, result.step) == ("diverged", 3)
    assert (result.stage, result.what) == ("graph", "token")


@pytest.mark.slow
@pytest.mark.parametrize("accept", ACCEPT)
@pytest.mark.parametrize(
    ("array", "value", "what"),
    [(1, 99.0, "logit"), (2, 0.5, "p"), (1, -math.inf, "candidate 7")],
    ids=["logit", "p", "cut"],
)
def test_a_wrong_value_handed_back_is_diverged(
    array: int, value: float, what: str, accept: Accept, tiny: Path, inside: Any
) -> None:
    backend = inside()

    def write(reply: Any) -> Any:
        stage = reply.handed_back[2]
        backend.scratch.view(stage.at + 4 * array * stage.n, stage.n, np.float32)[7] = value
        return reply

    backend.edit = write
    with accepting(accept):
        result = result_of(case_of(tiny, [DIST]), backend)
    assert (result.verdict, result.step, result.what) == ("diverged", 2, what)


def test_too_few_or_misplaced_arrays_are_a_violation_of_the_protocol(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    def cut(reply: Any) -> Any:
        return reply.model_copy(update={"handed_back": reply.handed_back[:-1]})

    def away(reply: Any) -> Any:
        stage = reply.handed_back[0].model_copy(update={"at": 1 << 60})
        return reply.model_copy(update={"handed_back": [stage, *reply.handed_back[1:]]})

    for edit in (cut, away):
        result = result_of(case_of(tiny, [DIST]), inside(edit=edit))
        assert result.verdict == "crashed"
        assert "candidates are missing for a token" in result.detail


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("select", lambda p, u: max(0, int(np.count_nonzero(np.cumsum(p) <= u)) - 1)),
        ("soft_max", lambda logits: floats.exp(logits - logits.max())),
    ],
)
def test_a_wrong_specification_does_not_explain_the_graph(
    name: str, fault: Any, tiny: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"sampler_parity.reference.pipelines.graph_samplers.{name}", fault)
    monkeypatch.setattr(f"sampler_parity.harness.checks.generation.graph.{name}", fault)
    result = result_of(case_of(tiny, [TOP_K, DIST], 40), inside())
    explained_exactly = result.verdict != "diverged" and result.values["by_rounding"] == 0
    assert not explained_exactly


def test_another_uniform_does_not_explain_the_graph(
    tiny: Path, inside: Callable[..., Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mt19937, "uniform_double", lambda rng: float(rng.uniform_float()))
    assert result_of(case_of(tiny, [DIST], 40), inside()).verdict == "diverged"


def test_top_k_without_the_swap_does_not_explain_the_order(
    tiny: Path, inside: Callable[..., Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    def plain(sampler: Any, data: Sampled) -> None:
        order = sorting.std_partial_sort(data.logits, sampler.k)
        data.ids, data.logits = data.ids[order], data.logits[order]

    monkeypatch.setitem(llama_graph._GRAPH, "top_k", plain)
    result = result_of(case_of(tiny, [TOP_K, DIST], 8), inside())
    assert result.values["in_other_order"] == 8


def test_the_graph_samples_only_while_it_decodes(worker: Any, inside: Any) -> None:
    can = {"decode", "generate", "in_graph", "sequences", "throughput"}
    assert set(worker.hello().capabilities) == can
    with pytest.raises(Unsupported, match="only while it decodes"):
        worker.build([DIST], 8, None)
    request = p.RunRequest(
        chain=[DIST], n_vocab=8, rows=p.Rows(at=0, count=1, n=8), steps=[], out=0
    )
    reply = answer(worker, inside().scratch, request)
    assert isinstance(reply, p.ErrorReply)
    assert reply.kind == "unsupported"
