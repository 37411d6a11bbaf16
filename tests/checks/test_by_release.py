"""Judge a backend by its own release, and find which old meanings a case needs."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler_parity.harness.backends import reference, registry
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.targets import needed
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.drift import change_results
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.protocol.scratch import Scratch
from sampler_parity.reference.releases import Change
from tests.support.cases import ABOUT
from tests.support.inside import Inside

FIVE = [Change(str(i), ("top_k",), "b4753", "b5590", "old", "new") for i in range(5)]
OLD = "reference@b4753"


@pytest.fixture(scope="module")
def old() -> Iterator[BackendProcess]:
    with contextlib.closing(registry.start(OLD)) as process:
        yield process


def of(*chain: tuple[str, dict[str, float]], **fields: object) -> Any:
    stages = [{name: parameters} for name, parameters in chain]
    logits = GeneratedLogits(family="normal", n=40)
    return case_from(ABOUT | {"chain": stages, "logits": logits} | fields)


def judged(case: Any, old: BackendProcess, release: str = "b4753") -> CaseResult:
    return execute(case, [old], None, {OLD: release})


@given(st.sets(st.integers(0, 4)))
def test_exactly_the_changes_that_matter_are_found_where_each_does_on_its_own(
    matter: set[int],
) -> None:
    wanted = [FIVE[i] for i in sorted(matter)]

    def enough(some: Sequence[Change]) -> bool:
        return all(change in some for change in wanted)

    assert needed(FIVE, enough) == wanted


@pytest.mark.slow
def test_an_old_meaning_is_identical_to_its_release_and_diverges_from_the_newest(
    old: BackendProcess,
) -> None:
    case = of(("top_k", {"k": 0}))
    own = judged(case, old).backends[OLD]
    assert (own.verdict, own.changes) == ("identical", ["top-k-0-sorts"])
    assert execute(case, [old]).backends[OLD].verdict == "diverged"


@pytest.mark.slow
def test_what_a_grammar_meant_in_an_old_release_is_not_modelled_and_not_asked(
    old: BackendProcess,
) -> None:
    grammar = {"grammar_str": 'root ::= "a"', "grammar_root": "root"}
    case = of(("grammar", grammar), vocab="bpe", accept=[97])  # type: ignore[arg-type]
    result = judged(case, old)
    assert result.backends[OLD].verdict == "unsupported"
    assert "grammar of b4753 is not modelled" in result.backends[OLD].detail
    assert result.met(OLD)
    assert execute(case, [old]).backends[OLD].verdict == "identical"


def test_another_meaning_than_its_own_release_s_is_not_explained(old: BackendProcess) -> None:
    result = judged(of(("top_k", {"k": 0})), old, "b5590").backends[OLD]
    assert (result.verdict, result.changes) == ("diverged", None)


def test_draws_are_judged_by_the_release_too(old: BackendProcess) -> None:
    case = of(("dist", {"seed": 1}), draws=200)
    own = judged(case, old).backends[OLD]
    assert (own.verdict, own.changes) == ("identical", ["dist-sorts"])
    assert execute(case, [old]).backends[OLD].verdict == "diverged"


def test_a_sampler_that_the_release_lacks_must_be_unsupported(old: BackendProcess) -> None:
    adaptive = ("adaptive_p", {"target": 0.5, "decay": 0.9, "seed": 1})
    assert judged(of(adaptive), old).required[OLD] == ["unsupported"]
    assert judged(of(("top_k", {"k": 0})), old).required[OLD] == ["identical"]


def judged_between(case: StagesCase, release: str) -> CaseResult:
    """Judge a build between b6301 and b6431.

    b6301 is the last build that sorts before it draws, b6431 the first that does not. The given
    release fixes which of the two the build does.
    """
    with contextlib.closing(Inside(reference.Worker(release), name="build")) as build:
        return execute(case, [build], None, {"build": "b6400"})


@pytest.mark.parametrize(
    ("release", "changes"), [("b6301", ["dist-sorts"]), ("b6431", []), ("b3889", None)]
)
def test_a_release_between_two_that_were_seen_is_judged_by_both(
    release: str, changes: list[str] | None
) -> None:
    """On draws the release before and the one behind part; b3889 is neither."""
    case = of(("dist", {"seed": 1}), draws=200)
    drawn = judged_between(case, release)
    result = drawn.backends["build"]
    as_which = release if changes is not None else "neither"
    assert f"judged by its neighbours b6301 and b6431: as {as_which}" in result.detail
    assert result.changes == changes
    assert drawn.ok == (changes is not None)


def test_what_both_neighbours_mean_is_reported_for_both() -> None:
    case = of(("top_k", {"k": 1}), ("dist", {"seed": 1}))
    result = judged_between(case, "b6431").backends["build"]
    assert result.detail == "judged by its neighbours b6301 and b6431: as both"


def test_a_sampler_that_did_not_change_there_is_judged_as_ever() -> None:
    result = judged_between(of(("top_k", {"k": 5})), "b6431")
    assert (result.backends["build"].verdict, result.backends["build"].detail) == ("identical", "")


def test_a_build_of_an_old_release_need_not_have_ignore_eos(old: BackendProcess) -> None:
    result = judged(of(("ignore_eos", {}), vocab="bpe"), old)
    assert (result.backends[OLD].verdict, result.ok) == ("unsupported", True)


def test_one_build_of_an_unknown_release_leaves_the_others_to_be_judged(
    old: BackendProcess,
) -> None:
    unknown = judged(of(("top_k", {"k": 5})), old, "b3000")
    assert "is not supported: choose one from b3889" in unknown.backends[OLD].detail
    assert not unknown.ok


def test_a_change_is_recorded_with_the_smallest_case_that_needs_it(old: BackendProcess) -> None:
    cases = {
        "big": of(("temp", {"temp": 0.5}), ("top_k", {"k": 0}), id="big"),
        "small": of(("top_k", {"k": -1}), id="small", logits=GeneratedLogits(family="normal", n=9)),
        "same": of(("top_k", {"k": 5}), id="same"),
    }
    results = [judged(case, old) for case in cases.values()]
    found = change_results(results, cases, {OLD: "b4753"}, lambda name: old)
    changes = {change.id: change for change in found}
    change = changes["change/top-k-0-sorts"]
    assert (change.cases, change.case, change.backend) == ({OLD: 2}, "small", OLD)
    assert change.result is not None
    assert (change.result.verdict, change.result.stage) == ("diverged", "top_k")
    assert change.counterexample is not None
    assert len(change.counterexample["logits"]["rows"][0]) == 1  # `sorted` is set
    assert not any(other.startswith("change/dist") for other in changes)


def test_an_unknown_release_is_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="b99"):
        registry.references(["llama.cpp"], "b99")


def test_only_a_build_of_llama_cpp_has_a_release_of_its_own() -> None:
    names = ["mine=node a.js", "null", "llama.cpp", OLD]
    releases = list(registry.references(names, "own").values())
    assert releases == [None, None, "v0.5.0", "b4753"]


class Uncallable:
    """A backend that has dry and cannot be asked for it, as llama.cpp between two signatures."""

    name, scratch = "build", Scratch()

    def hello(self) -> HelloReply:
        return HelloReply(
            name="a", version="b4500", capabilities=["run"], samplers=["top_k"],
            uncallable={"dry": "it has dry, but how llama.cpp b4500 takes it is not known"},
        )  # fmt: skip


def test_a_sampler_that_nobody_knows_how_to_call_is_not_met_and_one_that_is_missing_is() -> None:
    build, releases = Uncallable(), {"build": "b4500"}
    dry = ("dry", {"dry_multiplier": 1.0, "dry_base": 2.0, "dry_allowed_length": 1})
    has = execute(of(dry, vocab="bpe"), [build], None, releases)  # type: ignore[list-item]
    assert has.backends["build"].detail.startswith("it has dry, but how llama.cpp b4500 takes it")
    assert not has.ok
    sigma = execute(of(("top_n_sigma", {"n": 1.0})), [build], None, releases)  # type: ignore[list-item]
    assert sigma.backends["build"].detail == "no sampler top_n_sigma"
    assert sigma.ok
