"""A failure has the name of the rule that is broken, with facts of the judge, in any arithmetic."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

from sampler_parity.engines.correct import float64, pairwise, samplers
from sampler_parity.engines.correct.worker import Steered, Worker
from sampler_parity.harness.bundle.records import BackendResult, Known
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.failures import readings
from sampler_parity.harness.failures.differing import kind_of, words
from sampler_parity.harness.failures.format_difference import differing_lines, side_by_side
from sampler_parity.harness.failures.groups import groups
from sampler_parity.harness.failures.readings import broken_rule, named
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.verdicts import Accept
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.penalties import Penalties
from tests.support.cases import stages
from tests.support.report_bundles import run_info

Apply = Callable[[Any, Any, Any], None]
WINDOW = {"penalty_last_n": 4, "penalty_repeat": 1.5, "penalty_freq": 0.25, "penalty_present": 0.5}


def crossing_dropped(ops: Any, cand: Any, of: Any) -> None:
    samplers.normalize(ops, cand)
    mass = np.cumsum(cand.p)
    cand.keep(slice(max(1, of.min_keep, int((mass <= ops.kind(of.p)).sum()))))


def by_occurrence(ops: Any, cand: Any, of: Any) -> None:
    for token in set(of.history):
        count, logit = ops.kind(list(of.history).count(token)), cand.logits[token]
        repeat = ops.kind(of.penalty_repeat)
        logit = logit * repeat if logit <= 0 else logit / repeat
        cand.logits[token] = logit - count * ops.kind(of.penalty_freq + of.penalty_present)


def third(ops: Any, cand: Any, of: Any) -> None:
    samplers.normalize(ops, cand)
    cand.keep(slice(None, None, 3))


def worker(kind: Callable[[], Worker], sampler: str, apply: Apply) -> Worker:
    made = kind()
    made.samplers = samplers.SAMPLERS | {sampler: apply}
    return made


def top_p(seed: int, p: float = 0.7) -> StagesCase:
    logits = {"family": "normal", "n": 12, "seed": seed}
    return stages([{"top_p": {"p": p}}], logits, id=f"top_p-{seed}-{p}")


def repeated(seed: int, *history: int) -> StagesCase:
    chain = [{"penalties": WINDOW | {"penalty_last_n": 9}}]
    logits = {"family": "normal", "n": 12, "seed": seed}
    return stages(chain, logits, id=f"penalties-{seed}", history=[*history])


TOP_P = [top_p(seed, p) for seed in range(4) for p in (0.5, 0.9)]
REPEATED = [repeated(0, 1, 1, 2), repeated(1, 3, 3, 3), repeated(2, 4, 5), repeated(3, 6)]


def judged(
    of: Worker, cases: list[StagesCase], accept: Accept
) -> tuple[list[BackendResult], list[Known], str]:
    """Return the results that fail, the readings that are named, and the broken rule."""
    with closing(InPlace("mine", of)) as backend, accepting(accept):
        results = [(case, execute(case, [backend]).backends["mine"]) for case in cases]
        failing = [pair for pair in results if pair[1].verdict == "diverged"]
        passing = [case for case, result in results if result.verdict != "diverged"]
        rule = broken_rule(failing[0][0], backend, failing[0][1])
        return [r for _, r in failing], named(failing, [], passing, backend), rule


@pytest.mark.parametrize("accept", ["identical", "correct"])
@pytest.mark.parametrize("kind", [pairwise.Worker, float64.Worker])
@pytest.mark.parametrize(
    ("sampler", "apply", "cases", "name", "words"),
    [
        ("top_p", crossing_dropped, TOP_P, "top_p/crossing-dropped", "the kept mass"),
        ("penalties", by_occurrence, REPEATED, "penalties/present-per-occurrence", "is right"),
    ],
)
def test_a_broken_rule_is_named_in_any_arithmetic(
    kind: type[Worker],
    accept: Accept,
    sampler: str,
    apply: Apply,
    cases: list[StagesCase],
    name: str,
    words: str,
) -> None:
    failing, found, rule = judged(worker(kind, sampler, apply), cases, accept)
    assert [known.name for known in found] == [name]
    assert found[0].explains == len(failing) >= 2
    assert words in rule


class NeverReset(Penalties):
    def reset(self) -> None:
        pass


class SharesItsHistory(Penalties):
    def clone(self) -> Penalties:
        twin = super().clone()
        twin.history = self.history
        return twin


class ForgetsItsHistory(Penalties):
    def clone(self) -> Penalties:
        return Penalties(
            self.penalty_last_n, self.penalty_repeat, self.penalty_freq, self.penalty_present
        )


class RecordsAfter(Steered):
    def apply(self, cand: Any) -> None:
        adaptive(self, cand)
        self.original_p = cand.p.copy()


class BeginsEmpty(Steered):
    def _forget(self) -> None:
        """0 / 0 would be no target."""
        super()._forget()
        self.total_weight = self.kind(1e-30)
        self.weighted_sum = self.total_weight * self.kind(self.target)


class KeepsItsSums(Steered):
    def reset(self) -> None:
        pass


def adaptive(of: Any, cand: Any) -> None:
    samplers.SAMPLERS["adaptive_p"](float64.Worker().ops, cand, of)


def scripts(sampler: str, **parameters: Any) -> list[StagesCase]:
    """Return cases of state: a reset, and clones, on several rows."""
    draws: list[dict[str, Any]] = [] if sampler == "adaptive_p" else [{"greedy": {}}]
    chain = [{sampler: parameters}, *draws]
    logits = {"family": "normal", "n": 8}
    return [
        stages(chain, logits | {"seed": seed}, id=f"{script}-{seed}", script=script, steps=6)
        for script in ("reset", "clone", "plain")
        for seed in range(3)
    ]


@pytest.mark.parametrize(
    ("sampler", "wrong", "parameters", "name"),
    [
        ("penalties", NeverReset, WINDOW, "penalties/never-reset"),
        ("penalties", SharesItsHistory, WINDOW, "penalties/shared"),
        ("penalties", ForgetsItsHistory, WINDOW, "penalties/emptied"),
        ("adaptive_p", RecordsAfter, {"target": 0.4, "seed": 1}, "adaptive_p/transformed"),
        ("adaptive_p", BeginsEmpty, {"target": 0.4, "seed": 1}, "adaptive_p/begins-empty"),
        ("adaptive_p", KeepsItsSums, {"target": 0.4, "seed": 1}, "adaptive_p/never-reset"),
    ],
)
def test_a_wrong_state_is_named(
    sampler: str, wrong: Any, parameters: dict[str, Any], name: str
) -> None:
    of = float64.Worker()
    of.makes[sampler] = partial(wrong, np.float64) if issubclass(wrong, Steered) else wrong
    if wrong is RecordsAfter:
        of.samplers = of.samplers | {sampler: lambda ops, cand, it: it.apply(cand)}
    failing, found, _ = judged(of, scripts(sampler, **parameters), "correct")
    assert [known.name for known in found] == [name]
    assert len(failing) >= 2


def test_a_clone_that_shares_mu_is_named() -> None:
    class SharesMu(MirostatV2):
        state: list[Any]

        def clone(self) -> MirostatV2:
            twin = SharesMu(self.seed, self.tau, self.eta)
            twin.rng, twin.state = self.rng.clone(), self.state
            return twin

        @property
        def mu(self) -> Any:
            return self.state[0]

        @mu.setter
        def mu(self, value: Any) -> None:
            self.__dict__.setdefault("state", [None])[0] = value

    of = float64.Worker()
    of.makes["mirostat_v2"] = cast(Any, SharesMu)
    failing, found, _ = judged(of, scripts("mirostat_v2", seed=1, tau=2.0, eta=0.5), "correct")
    assert ([known.name for known in found], len(failing) >= 2) == (["mirostat_v2/shared"], True)


def latest_copy(ops: Any, cand: Any, of: Any) -> None:
    for token, lengths in readings._repetitions(of).items():
        cand.logits[cand.ids == token] -= of._penalty(lengths[0], ops.kind)


def of_vocabulary(ops: Any, cand: Any, of: Any) -> None:
    samplers.normalize(ops, cand)
    share = -(cand.p * np.log(cand.p)).sum() / np.log(VOCABULARY)
    samplers.scale(ops, cand, of.temp - of.delta + 2 * of.delta * share)
    cand.p = ops.softmax(cand.logits)


def of_earlier_p(ops: Any, cand: Any, of: Any) -> None:
    stale = cand.p.copy()
    samplers.normalize(ops, cand)
    if stale.any():
        cand.p = stale[: len(cand.p)]
    cand.keep(slice(int((np.cumsum(cand.p) < of.p).sum()) + 1))


def into_the_breaker(ops: Any, cand: Any, of: Any) -> None:
    twin, limit = of.clone(), of._limit
    twin._limit = lambda tokens: min(limit(tokens) + 1, len(tokens))
    samplers.dry(ops, cand, twin)


def head_of_the_breaker(ops: Any, cand: Any, of: Any) -> None:
    twin = of.clone()
    twin.breakers = {token: {()} for token in of.breakers}
    samplers.dry(ops, cand, twin)


VOCABULARY = 12
NORMAL = {"family": "normal", "n": VOCABULARY}
HISTORY = [3, 1, 2, 4, 1, 2, 5, 2, 6, 1, 2]  # behind 1, 2: 4, 5; behind 2 alone: 6


def on_rows(
    *chains: list[dict[str, Any]], rows: int = 3, histories: Sequence[list[int]] = ([],)
) -> list[StagesCase]:
    """Return each chain behind each history, on so many rows of logits."""
    made = itertools.product(chains, range(rows), histories)
    return [
        stages(chain, NORMAL | {"seed": seed}, id=f"{number}", history=history)
        for number, (chain, seed, history) in enumerate(made)
    ]


DRY = {"dry_multiplier": 1.0, "dry_allowed_length": 1}
BREAKERS = DRY | {"seq_breakers": [[5, 6]]}
ENDS = [[5, 6, 1, 2, 5, 6, 1], [5, 1, 2, 3, 5, 1, 2], [1, 2, 3, 1, 2]]
XTC = {"xtc": {"p": 1.0, "t": 0.1, "seed": 1}}
WARMER = {"temp_ext": {"temp": 1.0, "delta": 0.5}}
COPIES = on_rows(
    [{"dry": DRY}], histories=[[*HISTORY[:8], *last] for last in ([4, 2, 1, 2], [5, 1, 2])]
)
BROKEN = on_rows([{"dry": BREAKERS}], rows=2, histories=ENDS)
BEHIND = on_rows(*([XTC, {"top_p": {"p": p}}] for p in (0.3, 0.6)))
AFTER_TOP_K: list[Any] = [[{"top_k": {"k": k}}, WARMER] for k in (3, 6)]
WARM = on_rows(*AFTER_TOP_K)


@pytest.mark.parametrize(
    ("sampler", "apply", "cases", "name"),
    [
        ("dry", latest_copy, COPIES, "dry/latest-copy"),
        ("dry", into_the_breaker, BROKEN, "dry/breaker-inside"),
        ("dry", head_of_the_breaker, BROKEN, "dry/breaker-head"),
        ("top_p", of_earlier_p, BEHIND, "top_p/stale"),
        ("temp_ext", of_vocabulary, WARM, "temp_ext/vocabulary"),
    ],
)
def test_a_number_taken_from_elsewhere_is_named(
    sampler: str, apply: Apply, cases: list[StagesCase], name: str
) -> None:
    failing, found, _ = judged(worker(float64.Worker, sampler, apply), cases, "correct")
    assert ([known.name for known in found], len(failing) >= 2) == ([name], True)


def test_a_reversed_chance_is_named_though_the_random_numbers_are_not_known() -> None:
    class OwnNumbers(float64.Worker):
        def hello(self) -> HelloReply:
            return super().hello().model_copy(update={"random": "own"})

    def reversed_chance(ops: Any, cand: Any, of: Any) -> None:
        of.p = np.float32(1) - of.p
        samplers.xtc(ops, cand, of)
        of.p = np.float32(1) - of.p

    probs = {"probs": [0.4, 0.3, 0.2, 0.1]}
    cases = [
        stages([{"xtc": {"p": p, "t": 0.15, "seed": seed}}], probs, id=f"xtc-{p}-{seed}")
        for p in (0.5, 1.0)
        for seed in range(8)
    ]
    failing, found, _ = judged(worker(OwnNumbers, "xtc", reversed_chance), cases, "correct")
    assert [known.name for known in found] == ["xtc/draw-reversed"]
    assert len(failing) == 8  # those of p = 1


def test_what_no_reading_explains_has_no_name_but_a_rule() -> None:
    _, found, rule = judged(worker(float64.Worker, "top_p", third), TOP_P, "correct")
    assert found == []
    assert "token" in rule or "mass" in rule


def test_a_sampler_without_a_judge_breaks_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "judge_of", lambda _name: None)
    _, found, rule = judged(worker(float64.Worker, "top_p", crossing_dropped), TOP_P, "identical")
    assert (found, rule) == ([], "")


def test_one_case_alone_names_nothing() -> None:
    failing, found, _ = judged(
        worker(float64.Worker, "top_p", crossing_dropped), [top_p(0, 0.9)], "correct"
    )
    assert (len(failing), found) == (1, [])


def test_too_few_survivors_are_not_called_too_many() -> None:
    """The reference, which sums in float32, would keep even fewer than the backend."""
    failing, _, _ = judged(worker(float64.Worker, "top_p", crossing_dropped), TOP_P, "correct")
    equal = stages([{"typical_p": {"p": 0.5}}], [1.0, 1.0])  # its mass must exceed p

    def only_one(ops: Any, cand: Any, of: Any) -> None:
        samplers.normalize(ops, cand)
        cand.keep(slice(1))

    (result,), _, rule = judged(worker(float64.Worker, "typical_p", only_one), [equal], "correct")
    assert rule == "the kept mass 0.5 only equals p = 0.5"
    assert result.values["survivors"] == {"got": 1, "expected": 2}
    for result in failing:
        counts = result.values["survivors"]
        assert counts["got"] < counts["expected"]
        assert "the kept mass" in result.values["rule"]
        assert " fewer than p allows" in words(kind_of(result), "top_p", [result])


@pytest.mark.parametrize("apply", [crossing_dropped, third])
def test_no_side_of_a_difference_is_blank_or_equal_to_the_other(apply: Apply) -> None:
    of = worker(float64.Worker, "top_p", apply)
    with closing(InPlace("mine", of)) as backend, accepting("correct"):
        cases = [execute(case, [backend]) for case in TOP_P]
    (group, *_) = groups(run_info("mine"), cases)
    for what, got, expected in side_by_side(group.example):
        assert "" not in (what, got, expected)
        assert got != expected
    assert not any(line.endswith("expected ") for line in differing_lines(group.example))


def test_every_reading_is_an_expression_that_gives_a_result() -> None:
    """Not one of them has a name that is not there."""
    for sampler, table in readings._tables().items():
        parameters = {
            "xtc": {"p": 1.0, "t": 0.1, "seed": 0}, "dist": {"seed": 0}, "top_k": {"k": 2},
            "logit_bias": {"logit_bias": [[1, 1.0]]}, "temp": {"temp": 0.5},
            "top_n_sigma": {"n": 1.0}, "temp_ext": {"temp": 1.0, "delta": 0.5}, "greedy": {},
            "penalties": {"penalty_last_n": 4, "penalty_freq": 1.0},
            "dry": {"dry_multiplier": 1.0}, "mirostat": {"seed": 0}, "mirostat_v2": {"seed": 0},
            "adaptive_p": {"target": 0.5, "seed": 0},
        }.get(sampler, {"p": 0.5})  # fmt: skip
        logits = {"family": "normal", "n": 9}
        case = stages([{sampler: parameters}], logits, history=[1, 2, 1, 2, 1])
        with closing(InPlace("mine", float64.Worker())) as backend:
            at = BackendResult(verdict="identical", stage=sampler)
            (view,) = readings.views(case, backend, at)
            assert readings._explains(table["rule"], view), sampler
        for name, reading in table["readings"].items():
            names = readings._names(view) | {"e": 1.0}
            with np.errstate(all="ignore"):
                for key, expression in (table["rule"] | reading).items():
                    names[key] = key == "says" or eval(readings._compiled(expression), names)
            assert reading["says"].strip(".") == reading["says"], name
