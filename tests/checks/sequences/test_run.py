"""Many sequences in one context of llama.cpp, against the reference on the logits of its batches.

A sequence that differs is named with its step.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.checks.sequences.block import SequencesCase
from sampler_parity.harness.checks.sequences.isolation import streams_of
from sampler_parity.harness.checks.sequences.run import request_of
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.llama_cpp import graph
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol import client_serving
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.maintenance.selftest import sequences as made
from sampler_parity.maintenance.selftest.parts import PARTS
from tests.support.cases import ABOUT
from tests.support.inside import HELLO, Inside, last_result_of, result_of
from tests.support.slots import step

DIST = {"dist": {"seed": 3}}
PENALTIES = {"penalties": {"penalty_last_n": 32, "penalty_repeat": 1.4, "penalty_present": 0.5}}
XTC = {"xtc": {"p": 0.5, "t": 0.01, "seed": 9}}
CHAINS = {
    "plain": [DIST],
    "penalties": [PENALTIES, DIST],
    "mirostat_v2": [{"mirostat_v2": {"seed": 5}}],
    "adaptive_p": [{"top_k": {"k": 30}}, {"adaptive_p": {"target": 0.3, "seed": 8}}],
    "top_k_xtc": [{"top_k": {"k": 20}}, XTC, DIST],
}


def together(model: Path, script: list[dict[str, Any]], **options: Any) -> SequencesCase:
    """Each chain of CHAINS is a text; they have prompts of other lengths."""
    texts = {
        name: {"chain": chain, "prompt": HELLO[: 5 + 3 * i]}
        for i, (name, chain) in enumerate(CHAINS.items())
    }
    logits = {"together": str(model), "slots": 4, "texts": texts, "script": script} | options
    return SequencesCase.model_validate(ABOUT | {"logits": logits, "steps": len(script)})


@pytest.mark.slow
def test_in_the_graph_each_sequence_has_its_verdict_and_its_explanation(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    script = [
        step([1, 0, 2], ("join", 0, 0), ("join", 1, 1), ("join", 2, 4)),
        *[step([2, 0, 1])] * 6,
        step([3, 1, 2], ("copy", 3, 1)),
        *[step([0, 1, 3])] * 6,
    ]
    backend = inside(worker=graph.Worker(), name="llama.cpp/graph")
    result = result_of(together(tiny, script, alone=True), backend)
    assert result.verdict in ("identical", "boundary", "explained"), result
    sequences = result.values["sequences"]
    assert [name.split()[0] for name in sequences] == [
        "plain", "penalties", "top_k_xtc", "penalties",
    ]  # fmt: skip
    predicted = "tokens as the graph's specification predicts"
    assert sequences["plain in slot 0 from step 1"] == (
        f"identical: 13/13 {predicted}, 0 not the CPU's, 0 by_rounding, 0 in_other_order"
    )
    assert sequences["penalties copied from 1 in slot 3 from step 8"].startswith("identical: 14/14")
    assert result.values["alone"]["parted"] == {}


@pytest.mark.slow
def test_threads_with_a_chain_each_draw_what_one_thread_draws(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    backend = inside()
    script = [
        step([0, 1, 2, 3], *[("join", i, (i, 1, 3, 4)[i]) for i in range(4)]),
        *[step([3, 0, 2, 1])] * 30,
    ]
    one, many = together(tiny, script), together(tiny, script, threads=8)
    assert result_of(many, backend).verdict == "identical"
    tokens = [
        client_serving.sequences(backend, request_of(case)).reply.tokens for case in (one, many)
    ]
    assert tokens[0] == tokens[1]


def test_a_text_in_place_of_what_is_sampled_is_taken_by_model_and_chain(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    """Forced tokens are history as sampled ones are."""
    case = together(tiny, [step([0], ("join", 0, 1)), *[step([0])] * 9])
    texts = case.logits.texts
    given = texts["penalties"].model_copy(update={"forced": [7, 8, 9, 7]})
    logits = case.logits.model_copy(update={"texts": texts | {"penalties": given}})
    case = case.model_copy(update={"logits": logits})
    backend = inside()
    done = client_serving.sequences(backend, request_of(case))
    assert done.reply.tokens[:4] == [7, 8, 9, 7]
    result = result_of(case, backend)
    assert (result.verdict, result.detail) == ("identical", "1/1 sequences identical, 6 tokens")


def test_a_copy_is_judged_by_a_clone_which_need_not_go_on_alike(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    """adaptive_p's clone starts its random numbers anew."""
    script = [step([0], ("join", 0, 3)), *[step([0])] * 4]
    script += [step([0, 1], ("copy", 1, 0)), *[step([1, 0])] * 12]
    case, backend = together(tiny, script), inside()
    assert result_of(case, backend).verdict == "identical"
    done = client_serving.sequences(backend, request_of(case))
    first, copy = streams_of(request_of(case), list(CHAINS), done)
    assert [t.token for t in first.tokens][5:] != [t.token for t in copy.tokens][5:]


def test_a_text_that_leaves_before_it_sampled_is_not_decoded_again(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    changes = [("join", 0, 0), ("reset", 0), ("leave", 0), ("join", 0, 0)]
    result = result_of(together(tiny, [step([0], *changes)], alone=True), inside())
    assert (result.verdict, result.values["alone"]["texts"]) == ("identical", 1)


@st.composite
def scripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Up to eight steps in four slots: texts join, leave, are copied and reset, slots rest."""
    taken: set[int] = set()
    steps = []
    for _ in range(draw(st.integers(1, 8))):
        changes: list[tuple[Any, ...]] = []
        for _ in range(draw(st.integers(0 if taken else 1, 3))):
            free = sorted({*range(4)} - taken)
            possible = [*(["join"] if free else []), *(["leave", "reset"] if taken else [])]
            do = draw(st.sampled_from([*possible, *(["copy"] if free and taken else [])]))
            if do in ("leave", "reset"):
                changes.append((do, draw(st.sampled_from(sorted(taken)))))
            else:
                other = range(len(CHAINS)) if do == "join" else sorted(taken)
                slot = draw(st.sampled_from(free))
                changes.append((do, slot, draw(st.sampled_from(other))))
                taken.add(slot)
            if do == "leave":
                taken.discard(changes[-1][1])
        if not taken:
            changes.append(("join", 0, draw(st.integers(0, len(CHAINS) - 1))))
            taken.add(0)
        batch = draw(st.permutations(sorted(taken)))
        batch = batch[: draw(st.integers(1, len(batch)))]
        steps.append(step(batch, *changes) | {"sample": draw(st.permutations(batch))})
    return steps


@pytest.mark.slow
@settings(max_examples=6)
@given(script=scripts())
def test_any_script_is_the_references(
    script: list[dict[str, Any]], tiny: Path, native_here: Inside
) -> None:
    result = result_of(together(tiny, script, alone=True), native_here)
    assert result.verdict == "identical", result


@pytest.fixture(scope="module")
def native_here(worker: Worker) -> Iterator[Inside]:
    with closing(Inside(worker)) as backend:
        yield backend


def test_a_sequence_that_differs_is_named_with_slot_and_step() -> None:
    worker = made.Worker(PARTS["sequences/copy-shares-its-chain"].make)
    result = last_result_of(made.case(), InPlace("made", worker))
    assert (result.verdict, result.step, result.stage) == ("diverged", 2, "token")
    assert result.values["sequence"] == "a copied from 0 in slot 2 from step 3"
    assert "a copied from 0 in slot 2 from step 3 is diverged at step 3" in result.detail


def test_a_failing_script_is_made_short() -> None:
    worker = made.Worker(PARTS["sequences/reused-slot"].make)
    with closing(InPlace("made", worker)) as backend:
        small = shrink(made.case(), lambda case: result_of(case, backend).verdict == "diverged")
    assert len(made.case().logits.script) == 9
    assert small.steps == len(small.logits.script) == 6  # at which the slot is used again


def test_of_copies_alone_nothing_is_decoded_again(
    tiny: Path, inside: Callable[..., Inside]
) -> None:
    """The text itself leaves before it sampled once."""
    script = [step([1], ("join", 0, 1), ("copy", 1, 0), ("leave", 0)), step([1])]
    result = result_of(together(tiny, script, alone=True), inside())
    assert (result.verdict, "alone" in result.values) == ("identical", False)
