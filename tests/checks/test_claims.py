"""Cases that use what a backend does not claim are skipped: neither met nor failed."""

import contextlib
from typing import Any

import pytest

from sampler_parity.harness.backends import reference
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.harness.verdicts import passing
from tests.support.cases import ABOUT
from tests.support.inside import Inside, claiming


def only_top_p(**fields: Any) -> Any:
    return claiming(reference.Worker(), samplers=["top_p"], capabilities=["run"], **fields)


def case(*samplers: str, **fields: Any) -> Any:
    settings = {"top_p": {"p": 0.9}, "dist": {"seed": 1}, "temp": {"temp": 0.5}}
    chain = [{name: settings[name]} for name in samplers]
    return case_from(ABOUT | {"logits": {"rows": [[3.0, 2.0, 1.0]]}, "chain": chain} | fields)


def result(of: StagesCase, worker: Any = None, **releases: str) -> CaseResult:
    with contextlib.closing(Inside(worker or only_top_p(), name="mine")) as mine:
        return execute(of, [mine], releases=releases)


def test_a_case_of_a_claimed_sampler_is_judged() -> None:
    got = result(case("top_p"))
    assert (got.backends["mine"].verdict, got.judged, got.ok) == ("identical", True, True)


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (case("temp", "top_p"), "no sampler temp"),
        (case("top_p", "temp", "dist"), "no sampler dist, temp"),
        (case("top_p", draws=8), "no draws"),
        (
            case("top_p", relation={"kind": "same_as", "chain": [{"temp": {"temp": 1.0}}]}),
            "no sampler temp",
        ),
    ],
    ids=["one sampler", "two", "draws", "of the relation"],
)
def test_a_case_with_something_unclaimed_is_skipped_whole(of: StagesCase, why: str) -> None:
    got = result(of)
    assert (got.backends["mine"].verdict, got.backends["mine"].detail) == ("skipped", why)
    assert not got.judged
    assert not got.met("mine")
    assert not got.failed("mine")
    assert got.steps == 0  # nor is the reference asked


OPENAI = [{"openai_penalties": {"presence_penalty": 1.0}}]


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"chain": OPENAI, "prompt": [0], "output": [1]}, "skipped"),
        ({"chain": OPENAI, "output": [1]}, "identical"),
        ({"chain": [{"temp": {"temp": 0.5}}], "prompt": [0]}, "identical"),
        ({"prompt": [0], "relation": {"kind": "differs_from", "chain": OPENAI}}, "skipped"),
    ],
    ids=["prompt", "output alone", "a sampler that does not distinguish", "of the relation"],
)
def test_a_prompt_needs_a_backend_that_distinguishes_it_if_a_sampler_does(
    fields: dict[str, Any], verdict: str
) -> None:
    of = case("temp", **fields)
    got = result(of, claiming(reference.Worker(), capabilities=["run"])).backends["mine"]
    assert (got.verdict, got.detail) == (
        verdict,
        "does not distinguish the prompt from the output" if verdict == "skipped" else "",
    )
    if fields.get("chain") == OPENAI:
        assert result(of, reference.Worker()).ok


class NoVocabulary(reference.Worker):
    """The reference, which reads no vocabulary. wrong: only heads of breakers count."""

    def __init__(self, wrong: bool = False) -> None:
        super().__init__()
        self.wrong = wrong

    def hello(self) -> HelloReply:
        hello = super().hello()
        return hello.model_copy(update={"capabilities": [*hello.capabilities, "no_vocab"]})

    def build(
        self, chain: ChainSpec, n_vocab: int, vocab: str | None
    ) -> reference.ReferenceInstance:
        assert vocab is None
        for breakers in (of["seq_breakers"] for stage in chain for of in stage.values()):
            assert all(isinstance(token, int) for breaker in breakers for token in breaker)
            breakers[:] = [breaker[:1] if self.wrong else breaker for breaker in breakers]
        return super().build(chain, n_vocab, vocab)


def test_breakers_are_sent_as_tokens_to_a_backend_without_a_vocabulary() -> None:
    dry = {"dry_multiplier": 5.0, "dry_allowed_length": 1, "seq_breakers": ["no"]}  # n, o
    fields = {
        "chain": [{"dry": dry}], "vocab": "bpe", "history": [110, 97, 98, 110, 97, 98],
        "logits": {"family": "normal", "n": 303, "seed": 1},
    }  # fmt: skip
    of = case("top_p", **fields)
    assert result(of, NoVocabulary()).backends["mine"].verdict == "identical"
    assert result(of, NoVocabulary(wrong=True)).backends["mine"].verdict == "diverged"
    grammar = {"chain": [{"grammar": {"grammar_str": 'root ::= "a"'}}], "history": []}
    got = result(case("top_p", **fields | grammar), NoVocabulary()).backends["mine"]
    assert (got.verdict, got.detail) == ("skipped", "no vocabulary")


def test_a_backend_that_claims_the_case_is_judged_next_to_one_that_does_not() -> None:
    with (
        contextlib.closing(Inside(only_top_p(), name="mine")) as mine,
        contextlib.closing(Inside(reference.Worker(), name="whole")) as whole,
    ):
        got = execute(case("temp"), [mine, whole])
    assert [(name, r.verdict) for name, r in got.backends.items()] == [
        ("mine", "skipped"),
        ("whole", "identical"),
    ]
    assert (got.judged, got.ok, got.steps) == (True, True, 1)


def test_where_a_suite_requires_unsupported_an_absence_is_met() -> None:
    got = result(case("temp", requires={"mine": ["unsupported"]}))
    assert (got.backends["mine"].verdict, got.met("mine")) == ("unsupported", True)


@pytest.mark.parametrize(
    ("worker", "verdict"),
    [(only_top_p(name="my own"), "skipped"), (only_top_p(), "unsupported")],
    ids=["any", "of a release"],
)
def test_what_a_release_had_and_a_build_of_it_lacks_is_a_finding_on_that_build_alone(
    worker: Any, verdict: str
) -> None:
    assert result(case("temp"), worker, mine="b4753").backends["mine"].verdict == verdict


def test_a_sampler_that_is_there_and_cannot_be_asked_for_is_a_failure() -> None:
    """Its signature is not known."""
    uncallable = {"temp": "how it is called is not known"}
    got = result(case("temp"), only_top_p(uncallable=uncallable))
    assert (got.backends["mine"].verdict, got.ok) == ("unsupported", False)


class Dies(Inside):
    """Its greeting fails, every time."""

    greeted = 0

    def hello(self) -> HelloReply:
        self.greeted += 1
        raise BackendFailure("crashed", "no greeting")


def test_a_backend_that_does_not_greet_has_crashed_and_is_greeted_once_a_case() -> None:
    with contextlib.closing(Dies(only_top_p(), name="mine")) as backend:
        got = execute(case("top_p"), [backend])
    assert (got.backends["mine"].verdict, got.ok, backend.greeted) == ("crashed", False, 1)


def test_what_is_accepted_adds_to_what_a_case_requires_and_takes_nothing_away() -> None:
    tied = ["identical", "reordered", "tied"]
    assert passing(["identical"], "identical") == ["identical"]
    assert passing(["identical"], "tied") == tied
    assert passing(["identical"], "correct") == [*tied, "undefined", "correct"]
    assert passing(["identical"], "close") == [*tied, "undefined", "correct", "close"]
    assert passing(["identical", "boundary"], "tied") == [*tied, "boundary"]


@pytest.mark.parametrize("alone", [["diverged"], ["unsupported"], ["boundary"], ["crashed"]])
def test_a_requirement_to_differ_is_not_lifted(alone: list[Any]) -> None:
    assert passing(alone, "close") == alone
