"""The backends llguidance and xgrammar: the known differences are found, and no others.

llguidance is in the extra `dev`; xgrammar needs torch, and is skipped where it is not installed.
"""

import functools
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.engines.llguidance import rules as llguidance_rules
from sampler_parity.engines.llguidance import worker as llguidance
from sampler_parity.engines.shared.grammars import engine, guidance
from sampler_parity.engines.shared.grammars.items import Class, Rule, Token, alternatives_of
from sampler_parity.engines.xgrammar import rules as xgrammar_rules
from sampler_parity.engines.xgrammar import worker as xgrammar
from sampler_parity.harness.backends.registry import start
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates
from sampler_parity.reference.grammar import parse
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

XGRAMMAR = all(importlib.util.find_spec(name) for name in ("torch", "xgrammar"))
without = pytest.mark.skipif(not XGRAMMAR, reason="the extra `xgrammar` is not installed")
ENGINES = [
    pytest.param("llguidance"),
    pytest.param("llguidance/rules"),
    pytest.param("xgrammar", marks=without),
    pytest.param("xgrammar/rules", marks=without),
]
WORKERS: dict[str, type[engine.Worker]] = {
    "llguidance": llguidance.Worker,
    "llguidance/rules": llguidance_rules.Worker,
    "xgrammar": xgrammar.Worker,
    "xgrammar/rules": xgrammar_rules.Worker,
}
VOCAB = read_vocab(vocab_path("bpe"))
A, B, X, HE, HEL, HELLO = 97, 98, 120, 256, 257, 259
BOS, END, EOT = 300, 301, 302


@functools.cache
def cases_of_engines() -> list[Case]:
    return expand(find_suites(["grammar/engines"])[0], "full")


@functools.cache
def cases_of_rules() -> list[Case]:
    names = ("grammar", "random_grammars", "grammar_lazy_patterns")
    suites = [path for name in names for path in find_suites([f"grammar/{name}"])]
    return [case for path in suites for case in expand(path, "quick") if case.vocab == "bpe"][::6]


@pytest.fixture(scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[BackendProcess]:
    process = start(request.param)
    yield process
    process.close()


def left(name: str, grammar: str, *before: int, root: str = "root") -> list[int]:
    """Return the tokens that an engine allows after some."""
    sampler = WORKERS[name]().grammar(grammar, root, VOCAB)
    for token in before:
        sampler.accept(token)
    cand = Candidates.from_logits(np.zeros(len(VOCAB), np.float32))
    sampler.apply(cand)
    allowed: list[int] = cand.ids[cand.logits == 0].tolist()
    return allowed


@pytest.mark.parametrize("backend", ENGINES, indirect=True)
@pytest.mark.slow
def test_known_differences_are_what_the_suite_says(backend: BackendProcess) -> None:
    results = [execute(case, [backend]) for case in cases_of_engines()]
    unmet = {r.id: r.backends[backend.name] for r in results if not r.met(backend.name)}
    assert not unmet


@pytest.mark.parametrize(
    "backend",
    [pytest.param("llguidance/rules"), pytest.param("xgrammar/rules", marks=without)],
    indirect=True,
)
@pytest.mark.slow
def test_rules_agree_with_llama_cpp_or_with_a_strict_reading(backend: BackendProcess) -> None:
    results = [execute(case, [backend]) for case in cases_of_rules()]
    verdicts = [r.backends[backend.name].verdict for r in results]
    assert not [r.id for r in results if not r.met(backend.name)]
    assert verdicts.count("identical") > len(verdicts) / 3
    assert {"explained", "unsupported"} <= set(verdicts)


@pytest.mark.parametrize("name", ENGINES)
def test_every_token_that_fits_is_left_and_every_end(name: str) -> None:
    assert left(name, 'root ::= "hello" | "ab"') == sorted([A, 104, HE, HEL, 258, HELLO, 286])
    assert left(name, 'root ::= "hello"', HELLO) == [END, EOT]
    assert left(name, 'root ::= "a"+', A, EOT) == [A, END, EOT]
    assert left(name, 'root ::= "<|bos|>"') == [ord("<"), BOS]


@pytest.mark.parametrize("name", ENGINES)
def test_behind_a_token_that_is_refused_nothing_is_left_until_a_reset(name: str) -> None:
    sampler = WORKERS[name]().grammar('root ::= "ab"', "root", VOCAB)
    cand = Candidates.from_logits(np.zeros(len(VOCAB), np.float32))
    sampler.accept(B)
    twin = sampler.clone()
    for stuck in (sampler, twin):
        stuck.apply(cand)
        assert (cand.logits == -np.inf).all()
    twin.reset()
    cand = Candidates.from_logits(np.zeros(len(VOCAB), np.float32))
    twin.apply(cand)
    assert cand.ids[cand.logits == 0].tolist() == [A, 286]


@pytest.mark.parametrize("name", ENGINES)
def test_a_clone_goes_on_by_itself(name: str) -> None:
    sampler = WORKERS[name]().grammar('root ::= "a" ("b" | "x")', "root", VOCAB)
    sampler.accept(A)
    twin = sampler.clone()
    twin.accept(B)
    cand = Candidates.from_logits(np.zeros(len(VOCAB), np.float32))
    sampler.apply(cand)
    assert cand.ids[cand.logits == 0].tolist() == [B, X]


@pytest.mark.parametrize("name", ENGINES)
def test_the_empty_grammar_constrains_nothing(name: str) -> None:
    assert left(name, "") == list(range(len(VOCAB)))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ENGINES, indirect=True)
def test_a_flipped_bit_of_the_mask_is_caught(
    backend: BackendProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(c for c in cases_of_engines() if c.id.startswith("engines/an-empty-alternative"))
    assert execute(_plain(case), [backend]).backends[backend.name].verdict == "identical"
    read = backend.scratch.read

    def flipped(at: int, n: int, dtype: Any) -> Any:
        seen = read(at, n, dtype)
        if n == 2 * 3 * len(VOCAB):  # ids, logits and p of both steps
            seen = seen.copy()
            logits = seen[len(VOCAB) : 2 * len(VOCAB)].view(np.float32)
            logits[X] = 1.5 if logits[X] == -np.inf else -np.inf
        return seen

    monkeypatch.setattr(backend.scratch, "read", flipped)
    result = execute(_plain(case), [backend]).backends[backend.name]
    assert (result.verdict, result.stage, result.values["id"]) == ("diverged", "grammar", X)


def _plain(case: Case) -> Case:
    """Every engine takes this one."""
    chain = [{"grammar": {"grammar_str": 'root ::= "b"', "grammar_root": "root"}}]
    return case.model_copy(update={"chain": chain, "accept": [B], "steps": 2, "expect": None})


def test_llguidance_by_default_leaves_one_token_of_a_text_that_must_come() -> None:
    made = guidance.library().LLMatcher
    grammar = made.grammar_from_lark('start: "hello"')
    matcher = guidance.Matcher(made(guidance.tokenizer_of(VOCAB), grammar), len(VOCAB))
    assert np.flatnonzero(matcher.allowed()).tolist() == [HELLO]


def test_llguidance_takes_ends_for_a_negated_token_rule() -> None:
    made = guidance.library().LLMatcher
    grammar = made.grammar_from_lark("start: <[^5]>")
    matcher = guidance.Matcher(made(guidance.tokenizer_of(VOCAB), grammar), len(VOCAB))
    assert matcher.allowed()[[END, EOT, 5]].tolist() == [True, True, False]
    assert left("llguidance/rules", "root ::= !<[5]>") == [t for t in range(END) if t != 5]


@pytest.mark.parametrize(("grammar", "root", "problem"), CASES["llguidance"])
def test_llguidance_says_what_it_refuses(grammar: str, root: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        left("llguidance", grammar, root=root)


def test_llguidance_s_converter_has_one_root() -> None:
    with pytest.raises(Unsupported, match="begins with the rule root"):
        left("llguidance", 'start ::= "a"', root="start")


@without
@pytest.mark.parametrize(("grammar", "problem"), CASES["xgrammar"])
def test_xgrammar_says_what_it_refuses_without_a_path(grammar: str, problem: str) -> None:
    with pytest.raises(InputError, match=r"grammar_parser\.cc") as caught:
        left("xgrammar", grammar)
    assert problem in str(caught.value)
    assert "/" not in str(caught.value)


@pytest.mark.parametrize(("name", "module"), [("llguidance", llguidance), ("xgrammar", xgrammar)])
def test_a_missing_library_is_unsupported(
    name: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    if name == "xgrammar":
        module.library.cache_clear()
    with pytest.raises(Unsupported, match=f"not installed: pip install sampler-parity.{name}"):
        WORKERS[name]().hello()


def test_rules_are_items_of_three_kinds() -> None:
    rules = parse('root ::= "a" b !<[5]> .\nb ::= [^x-z\\uD900] |', vocab=VOCAB)
    named = {name: list(alternatives_of(rules, i)) for i, name in enumerate(rules.names)}
    assert named["root"] == [
        [Class(((97, 97),), True), Rule(1), Token(5, False), Class(((0, 0x10FFFF),), True)]
    ]
    assert named["b"] == [[Class(((120, 122),), False)], []]
