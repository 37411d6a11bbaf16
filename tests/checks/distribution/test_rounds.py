"""Rounds of speculative sampling on correct and on wrong backends."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.backends import reference_speculative
from sampler_parity.harness.backends.null import Worker as Null
from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.checks.distribution.block import Speculative
from sampler_parity.harness.checks.distribution.record import CellOnBackend
from sampler_parity.harness.checks.distribution.rounds import Outcomes, prepared
from sampler_parity.harness.checks.distribution.speculative_stages import cause_of
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.server import InPlace
from sampler_parity.harness.statistics import look
from sampler_parity.harness.statistics.plan import Errors
from sampler_parity.reference.speculative import one_draft
from sampler_parity.reference.speculative.chance import Chance, Drawn, Row
from sampler_parity.reference.speculative.rules import RULES
from tests.support.cases import ABOUT
from tests.support.cells import cell_on

Tokens = tuple[int, ...]
Verify = Callable[[Chance, Sequence[int], Sequence[Row], Sequence[Row]], Tokens]
CELL = ABOUT | {
    "rule": "rejection",
    "drafted": 2,
    "chain": [{"dist": {"seed": 1}}],
    "logits": {"rows": [[1.0, 0.5, -0.5], [0.0, 1.5, 1.0], [1.0, 0.0, -1.0]]},
    "draft_chain": [{"dist": {"seed": 1}}],
    "draft": {"rows": [[-0.5, 1.0, 0.5], [1.0, 0.0, 0.5]]},
    "margin": 0.2,
}
WIDE = {"family": "flat", "n": 40, "seed": 1}
PENALISED = {
    "chain": [{"penalties": {"penalty_last_n": 8, "penalty_repeat": 9.0}}, *CELL["chain"]],
    "logits": {"rows": [[2.0, 1.0, 0.5]]},
}


def cell(**changed: Any) -> Speculative:
    return Speculative.model_validate({**CELL, **changed})


def result_of(asked: Speculative, worker: Any = None) -> CellOnBackend:
    backend = InPlace("reference", worker or Worker())
    return cell_on(asked, backend).backends["reference"]


def plant(monkeypatch: pytest.MonkeyPatch, verify: Verify, rule: str = "rejection") -> None:
    """Let the reference verify drafts in this way."""
    rules = {rule: replace(RULES[rule], verify=verify)}
    monkeypatch.setattr(reference_speculative, "RULES", rules)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [cell(), cell(rule="matching"), cell(bins=2), cell(rule="matching", bins=2), cell(**PENALISED)],
    ids=["rejection", "matching", "by rank", "matching by rank", "penalised"],
)
def test_the_reference_is_equivalent(asked: Speculative) -> None:
    result = result_of(asked)
    assert result.decision == "equivalent"
    mean, expected = re.findall(r"[\d.]+", result.detail)
    assert float(mean) == pytest.approx(float(expected), abs=0.2)


@pytest.mark.parametrize("rule", ["rejection", "matching"])
def test_bins_by_rank_and_all_rounds_have_the_mean_length_of_the_rule(rule: str) -> None:
    """Independent positions: 1 + a_0 + a_0 a_1 tokens, a_i the acceptance of the rows."""
    every, by_rank = (Outcomes(c, prepared(c)) for c in (cell(rule=rule), cell(rule=rule, bins=1)))
    models = every.models
    a = [RULES[rule].acceptance(models.target((0,) * i), models.drafted_from(i)) for i in range(2)]
    lengths = [1 - a[0], a[0] * (1 - a[1]), a[0] * a[1]]
    assert by_rank.p == pytest.approx(lengths, rel=1e-6)
    of_round = np.array([[0, -1, -1], [0, 1, -1], [0, 0, 0]], np.int32)
    assert (every.places(of_round) >= 0).all()
    assert by_rank.places(of_round).tolist() == [0, 1, 2]
    mean = 1 + a[0] + a[0] * a[1]
    assert [every.length, by_rank.length] == pytest.approx([mean, mean], rel=1e-6)
    assert every.p.sum() == pytest.approx(1, abs=1e-12)


def always(chance: Chance, draft: Any, rows: Any, targets: Any) -> Tokens:
    return (*draft, one_draft.draw(chance, targets[-1]))


def from_target(chance: Chance, draft: Any, rows: Any, targets: Any) -> Tokens:
    for i, token in enumerate(draft):
        if not one_draft.accepts(chance, targets[i], rows[i], token):
            return (*draft[:i], one_draft.draw(chance, targets[i]))
    return (*draft, one_draft.draw(chance, targets[-1]))


def bonus_before(chance: Chance, draft: Any, rows: Any, targets: Any) -> Tokens:
    return one_draft.verify(chance, draft, rows, [*targets[:-1], targets[-2]])


def no_bonus(chance: Chance, draft: Any, rows: Any, targets: Any) -> Tokens:
    return one_draft.verify(chance, draft, rows, targets)[: len(draft)]


def goes_on(chance: Chance, draft: Any, rows: Any, targets: Any) -> Tokens:
    return (*(one_draft.draw(chance, p) for p in targets),)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (always, "accept 0"),
        (from_target, "recover 0"),
        (bonus_before, "bonus"),
        (no_bonus, "bonus: 0 of"),
        (goes_on, "shape"),
    ],
)
def test_a_wrong_round_is_different_and_its_stage_is_named(
    monkeypatch: pytest.MonkeyPatch, wrong: Verify, cause: str
) -> None:
    plant(monkeypatch, wrong)
    result = result_of(cell(margin=0.1))
    assert result.decision == "different"
    assert result.detail.startswith(cause)


def test_a_history_that_is_not_advanced_shows_at_the_second_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = reference_speculative._row

    def forgetful(chain: Any, request: Any, logits: Any, past: Tokens) -> Row:
        return right(chain, request, logits, ())

    monkeypatch.setattr(reference_speculative, "_row", forgetful)
    result = result_of(cell(**PENALISED, margin=0.1, draft={"rows": [[3.0, 0.0, 0.0]]}))
    assert result.decision == "different"
    assert result.detail.startswith("accept 1")


@pytest.mark.parametrize("rule", ["rejection", "matching"])
def test_matching_and_rejection_are_distinguished(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are lossless; how much of the draft is accepted is not the same."""
    other = {"rejection": "matching", "matching": "rejection"}[rule]
    plant(monkeypatch, RULES[other].verify, rule)
    assert result_of(cell(rule=rule)).decision == "different"


def test_right_counts_are_alarms_no_oftener_than_stated() -> None:
    """200 times 500 right rounds at 1 in 100: 12 alarms or more come once in 10^6 runs."""
    asked = cell()
    outcomes, rng = Outcomes(asked, prepared(asked)), np.random.default_rng(7)
    counts = rng.multinomial(500, outcomes.p, size=200)
    errors = Errors(alpha=0.01, beta=1e-4)
    seen = look.frequencies(counts, outcomes.p, errors, last=True)
    assert int(seen.different(errors).sum()) < 12
    models, alarms = outcomes.models, 0
    for _ in range(5):
        drafts = [
            tuple(int(rng.choice(3, p=models.drafted_from(i))) for i in range(2))
            for _ in range(100)
        ]
        rounds: dict[tuple[Tokens, Tokens], int] = {}
        for draft in drafts:
            chance = Drawn(rng)
            targets = [models.target(draft[:i]) for i in range(3)]
            rows = [models.drafted_from(i) for i in range(2)]
            key = draft, one_draft.verify(chance, draft, rows, targets)
            rounds[key] = rounds.get(key, 0) + 1
        alarms += bool(cause_of(rounds, models.of_stage, 0.001))
    assert alarms < 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"chain": [{"xtc": {"p": 0.5, "t": 0.1, "seed": 1}}, *CELL["chain"]]}, "may be random"),
        ({"draft_chain": PENALISED["chain"]}, "the draft's chain looks at the history"),
        ({**PENALISED, "bins": 3}, "does not look at the history"),
        ({"logits": WIDE, "draft": WIDE}, "set bins"),
    ],
)
def test_what_has_no_distribution_of_rounds_is_refused(
    changed: dict[str, Any], message: str
) -> None:
    asked = cell(**changed)
    with pytest.raises(Unsupported, match=message):
        Outcomes(asked, prepared(asked))
    assert message in result_of(asked).detail


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([-1, -1, -1], "a round has no token"),
        ([3, -1, -1], "outside the vocabulary"),
        ([0, -1, 1], "a token after its end"),
    ],
)
def test_a_reply_that_is_no_round_breaks_the_protocol(tokens: list[int], message: str) -> None:
    class Wrong(Worker):
        def speculate(self, request: Any, rounds: Any) -> Any:
            return np.tile(np.array(tokens, np.int32), (request.n, 1))

    result = result_of(cell(), Wrong())
    assert result.decision == "crashed"
    assert message in result.detail


def test_a_backend_that_verifies_no_drafts_is_skipped() -> None:
    result = result_of(cell(), Null())
    assert (result.decision, result.detail) == ("skipped", "verifies no drafts")


def of_grammar(rule: str, text: str, *drafted: int) -> Speculative:
    """Draft these tokens alone, of 303 equal ones."""
    equal = {"family": "equal", "n": 303}
    favoured = {"logit_bias": {"logit_bias": [[token, 9.0] for token in drafted]}}
    return cell(
        rule=rule, vocab="bpe", logits=equal, draft=equal,
        chain=[{"grammar": {"grammar_str": text, "grammar_root": "root"}}, *CELL["chain"]],
        draft_chain=[favoured, {"top_k": {"k": len(drafted)}}, *CELL["chain"]],
    )  # fmt: skip


@pytest.mark.parametrize("rule", ["rejection", "matching"])
def test_an_accepted_draft_moves_the_grammar(rule: str) -> None:
    """After a or b only the other one fits; c fits nowhere, so nothing is made behind it."""
    text = 'root ::= "a" "b" "a" | "b" "a" "b"'
    assert result_of(of_grammar(rule, text, 97, 98, 99)).decision == "equivalent"


@pytest.mark.parametrize("rule", ["rejection", "matching"])
def test_a_draft_that_the_grammar_refuses_is_named_if_it_is_accepted(
    monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """Nothing is right behind such a token: the stage is that of its acceptance."""
    plant(monkeypatch, lambda chance, draft, rows, targets: (*draft, 97), rule)
    result = result_of(of_grammar(rule, 'root ::= [ab] "a" [ab]', 97, 98))
    assert result.decision == "different"
    assert result.detail.startswith("accept ")


STATED = {
    "draft_chain": [{"top_k": {"k": 1}}, {"dist": {"seed": 1}}],
    "stated": [{"dist": {"seed": 1}}],
}


def test_a_greedy_draft_with_a_stated_q_is_judged_by_the_rule_and_not_by_the_target() -> None:
    """The first draft is token 1, with p 0.33 and a stated q 0.55: the rule accepts it with 0.6."""
    asked = cell(**STATED)
    outcomes = Outcomes(asked, prepared(asked))
    p, q = outcomes.models.target(()), outcomes.models.stated[0]
    accepted, replaced = outcomes.models.split(0, p)
    assert accepted.tolist() == pytest.approx([0, p[1] / q[1], 0], rel=1e-6)
    assert abs(accepted + replaced - p).sum() / 2 > 0.1
    assert result_of(asked).decision == "equivalent"
    assert result_of(cell(**STATED | {"stated": []})).decision == "equivalent"


def test_a_backend_that_takes_the_drafts_for_certain_is_found_by_a_stated_q() -> None:
    class Certain(Worker):
        def speculate(self, request: Any, rounds: Any) -> Any:
            q = np.zeros_like(rounds.draft_rows)
            q[np.arange(len(q)), rounds.drafts[0]] = 1
            return super().speculate(request, replace(rounds, draft_rows=q))

    result = result_of(cell(**STATED), Certain())
    assert (result.decision, result.detail[:9]) == ("different", "recover 0")
