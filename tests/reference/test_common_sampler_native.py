"""common_sampler against libllama-common: names, parameters, and any commands in any order."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference import ChainError, UndefinedInputError
from sampler_parity.reference.pipelines import common_sampler as llama_cpp
from sampler_parity.reference.pipelines.common_chain import (
    default_chain,
    samplers_from_chars,
    samplers_from_names,
)
from sampler_parity.reference.pipelines.common_sampler import (
    CommonSampler,
    Output,
    SamplingParams,
    prefill_tokens,
)
from tests.support.examples import examples
from tests.support.native_common import PRINTED, TYPES, Driver, NativeError, driving, same
from tests.support.native_common.allow_list import AllowList

BPE, SPM = vocab_path("bpe"), vocab_path("spm")


def chain_of_b11549(params: SamplingParams, *rest: Any, **named: Any) -> ChainSpec:
    """Return the chain of b11549.

    If temperature is its last sampler and is 0, greedy takes the token and nothing is drawn. It is
    the same token; p stays as it was before temperature.
    """
    chain = default_chain(params, *rest, **named)
    ends = params.samplers[-1:] == ("temperature",) and "dist" in chain[-1]
    if ends and params.temp == 0 and params.dynatemp_range == 0:
        chain[-1] = {"greedy": {}}
    return chain


@pytest.fixture(params=["v0.5.0", "b11549"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    if request.param == "b11549":
        monkeypatch.setattr(llama_cpp, "default_chain", chain_of_b11549)
    with driving(request.param) as driver:
        yield driver


@pytest.mark.slow
def test_names_and_letters_are_understood_as_natively(driver: Driver) -> None:
    names = [
        "top-k", "TOPK", "topnsigma", "top_n_sigma", "nucleus", "temp", "Temperature", "typ",
        "typical", "typ-p", "tail_free", "", "penalties", "dry", "XTC", "min-p", "minp", "infill",
        "adaptive-p", "adaptivep", "top p",
    ]  # fmt: skip
    letters = "edskypmxtia?KZe"
    native = driver.types("from_names", names)
    assert samplers_from_names(names) == tuple(name for name, _, _ in native)
    native += driver.types("from_chars", letters)
    in_letters = driver.types("from_chars", letters)
    assert samplers_from_chars(letters) == tuple(name for name, _, _ in in_letters)
    assert "".join(letter for _, _, letter in in_letters) == "edskypmxtiae"
    assert {(name, number) for name, number, _ in native} == set(TYPES.items())
    assert samplers_from_chars("edskypmxt") == SamplingParams().samplers


@pytest.mark.slow
def test_chain_and_parameters_are_printed_as_natively(driver: Driver) -> None:
    """Every value another: the layout of the program's parameters is llama.cpp's."""
    params = SamplingParams(
        seed=11, min_keep=3, top_k=41, top_p=0.91, min_p=0.06, xtc_probability=0.21,
        xtc_threshold=0.12, typ_p=0.97, temp=0.7, dynatemp_range=0.3, dynatemp_exponent=1.3,
        penalty_last_n=65, penalty_repeat=1.1, penalty_freq=0.15, penalty_present=0.16,
        dry_multiplier=0.8, dry_base=1.8, dry_allowed_length=4, dry_penalty_last_n=66,
        dry_sequence_breakers=("x",), top_n_sigma=2.5, logit_bias=((5, -1.5),),
        adaptive_target=0.4, adaptive_decay=0.8, mirostat_tau=4.5, mirostat_eta=0.2,
        samplers=(*SamplingParams().samplers, "infill"),
    )  # fmt: skip
    chain, values = driver.init(0, params)
    stages = [name for stage in default_chain(params, 303) for name in stage]
    called = {"typical_p": "typical"}  # and with "?" before one that is off
    printed = ["logits", *(called.get(name, name.replace("_", "-")) for name in stages)]
    assert chain.split() == " -> ".join(printed).split()
    words = values.replace(",", " ").split()
    pairs = zip(words[::3], words[2::3], strict=True)
    shown = {PRINTED.get(name, name): float(value) for name, value in pairs}
    assert len(shown) == 21
    for name, value in shown.items():
        assert value == getattr(params, name), name


@pytest.mark.slow
def test_at_temperature_0_a_later_build_takes_the_largest_and_draws_nothing(
    driver: Driver, request: pytest.FixtureRequest
) -> None:
    later = "b11549" in request.node.name
    for change, last in (
        ({}, "greedy" if later else "dist"),
        ({"temp": -1.0}, "dist"),
        ({"dynatemp_range": 0.5}, "dist"),
        ({"samplers": ("temperature", "top_k")}, "dist"),
        ({"samplers": ("temperature",)}, "greedy" if later else "dist"),
    ):
        params = SamplingParams(**{"temp": 0.0} | change)
        assert driver.init(0, params)[0].split()[-1] == last
        assert list(vars(llama_cpp)["default_chain"](params, 303)[-1]) == [last]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [("penalty_repeat", v) for v in (0.0, -1.0, math.inf, math.nan, 1e-39)]
    + [("penalty_freq", math.nan), ("penalty_present", -math.inf)],
)
def test_penalties_are_refused_as_natively(driver: Driver, name: str, value: Any) -> None:
    params = SamplingParams(**{name: value})
    with pytest.raises(NativeError, match=f"^{name} must be finite"):
        driver.init(0, params)
    with pytest.raises(ChainError, match=f"^{name} must be finite"):
        CommonSampler(params, 303)


TOKEN = st.integers(0, 7) | st.integers(0, 255)
SEQUENCE = st.lists(st.integers(0, 5), max_size=2).map(tuple)


@st.composite
def parameters(draw: st.DrawFn) -> SamplingParams:
    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    order = draw(st.lists(st.sampled_from(sorted(TYPES)), max_size=6))
    biases = draw(st.lists(st.tuples(TOKEN, st.sampled_from([1.5, -2.0, -math.inf])), max_size=2))
    return SamplingParams(
        seed=draw(st.integers(0, 2**32 - 2)),
        n_prev=one_of(0, 33),
        min_keep=one_of(0, 0, 3),
        top_k=one_of(40, 5, 0, 200),
        top_p=one_of(0.95, 0.5, 1.0),
        min_p=one_of(0.05, 0.0, 0.3),
        xtc_probability=one_of(0.0, 0.5),
        typ_p=one_of(1.0, 0.7),
        temp=one_of(0.8, 1.0, 0.0, 2.0),
        dynatemp_range=one_of(0.0, 0.5),
        penalty_last_n=one_of(64, 3, 0),
        penalty_repeat=one_of(1.0, 1.3),
        penalty_freq=one_of(0.0, 0.2),
        dry_multiplier=one_of(0.0, 0.8),
        dry_allowed_length=1,
        dry_sequence_breakers=one_of((), ("\n", ":", '"', "*")),
        adaptive_target=one_of(-1.0, 0.3),
        mirostat=one_of(0, 0, 0, 1, 2),
        top_n_sigma=one_of(-1.0, 1.5),
        samplers=one_of(SamplingParams().samplers, tuple(order)),
        logit_bias=tuple(biases),
        grammar_lazy=draw(st.booleans()),
        reasoning_budget_tokens=one_of(-1, 0, 1, 3),
        reasoning_budget_start=draw(st.just(()) | SEQUENCE),
        reasoning_budget_end=tuple(draw(st.lists(SEQUENCE, max_size=2))),
        reasoning_budget_forced=draw(SEQUENCE),
        reasoning_control=draw(st.booleans()),
    )


@st.composite
def grammars(draw: st.DrawFn) -> AllowList | None:
    if draw(st.booleans()):
        return None
    allowed = st.sets(TOKEN, min_size=1, max_size=6) | st.just(set(range(256)))
    return AllowList(draw(st.lists(allowed, min_size=1, max_size=3)))


@dataclass
class Pair:
    reference: CommonSampler
    native: int


class CommonMachine(RuleBasedStateMachine):
    """Any commands, in any order: tokens, candidates, grammar and budget stay llama.cpp's."""

    driver: Driver

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[Pair] = []
        self.token = 0

    @initialize(
        params=parameters(),
        grammar=grammars(),
        grammar_type=st.integers(1, 3),
        path=st.sampled_from([BPE, SPM]),
        prompt=st.sampled_from(["", "", "ab", " hello", "\x00\x01", "hello"]),
        suppress=st.just([]) | st.lists(TOKEN, max_size=2),
    )
    def begin(
        self, params: SamplingParams, grammar: AllowList | None, grammar_type: int, path: Any,
        prompt: str, suppress: list[int],
    ) -> None:  # fmt: skip
        self.vocab = read_vocab(path)
        self.n_vocab = self.driver.start(path, suppress)
        self.driver.init(
            0, params, grammar=grammar.text() if grammar else "", grammar_type=grammar_type,
            generation_prompt=prompt,
        )  # fmt: skip
        prefill = prefill_tokens(prompt, self.vocab.tokenize(prompt.encode()), self.vocab)
        reference = CommonSampler(
            params, self.n_vocab, self.vocab, grammar=grammar, needs_prefill=grammar_type > 1,
            prefill=prefill, suppress=suppress,
        )  # fmt: skip
        self.in_graph = reference.grammar is None and reference.budget is None
        self.pairs.append(Pair(reference, 0))

    def _pair(self, data: st.DataObject) -> Pair:
        return data.draw(st.sampled_from(self.pairs))

    def _logits(self, data: st.DataObject) -> NDArray[np.float32]:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        logits = rng.normal(0, 3, self.n_vocab)
        shape = data.draw(st.sampled_from(["plain", "ties", "banned", "low ids"]))
        if shape == "ties":
            logits = logits.round()
        elif shape == "banned":
            logits[rng.random(self.n_vocab) < 0.9] = -np.inf
        elif shape == "low ids":
            logits[:6] += 9
        return logits.astype(np.float32)

    def _output(self, data: st.DataObject) -> Output:
        logits = self._logits(data)
        left = data.draw(st.sampled_from(["logits", "logits", "ids", "p", "token"]))
        if left == "logits" or not self.in_graph:
            return Output(logits)
        ids = np.flatnonzero(logits >= np.sort(logits)[-20]).astype(np.int32)[::-1].copy()
        p = None if left == "ids" else np.linspace(0, 1, len(ids), dtype=np.float32)
        token = int(data.draw(st.sampled_from([*ids.tolist(), 0]))) if left == "token" else None
        return Output(logits[ids], ids, p, token)

    def _defined(self, pair: Pair, do: Any) -> Any:
        """Return the reference's result; None, with all as before, if llama.cpp is undefined."""
        before = copy.deepcopy(pair.reference, {id(self.vocab): self.vocab})
        try:
            return do(pair.reference)
        except UndefinedInputError:
            pair.reference = before
            return None

    @rule(data=st.data(), grammar_first=st.booleans())
    def sample(self, data: st.DataObject, grammar_first: bool) -> None:
        pair, output = self._pair(data), self._output(data)
        token = self._defined(pair, lambda sampler: sampler.sample(output, grammar_first))
        if token is not None:
            assert token == self.driver.sample(pair.native, output, grammar_first)
            self.token = token
            same(pair.reference.get_candidates(), self.driver.candidates(pair.native, False))

    @rule(data=st.data(), is_generated=st.booleans())
    def accept(self, data: st.DataObject, is_generated: bool) -> None:
        pair = self._pair(data)
        token = data.draw(st.just(self.token) | TOKEN)
        accepted = self._defined(pair, lambda s: (s.accept(token, is_generated), True))
        if accepted:
            self.driver.ask("accept", pair.native, token, is_generated)

    @rule(data=st.data(), grammar_first=st.booleans())
    def follow_draft(self, data: st.DataObject, grammar_first: bool) -> None:
        pair = self._pair(data)
        likely = [self._logits(data) for _ in range(data.draw(st.integers(1, 3)))]
        draft = [int(logits.argmax()) for logits in likely[1:]]
        outputs = [Output(logits) for logits in [*likely[1:], likely[0]]]
        tokens = self._defined(pair, lambda s: s.sample_and_accept_n(outputs, draft, grammar_first))
        if tokens is not None:
            native = self.driver.sample_and_accept_n(pair.native, outputs, draft, grammar_first)
            assert tokens == native

    @rule(data=st.data())
    def sort(self, data: st.DataObject) -> None:
        pair = self._pair(data)
        cand = self._defined(pair, lambda sampler: sampler.get_candidates(do_sort=True))
        if cand is not None:
            same(cand, self.driver.candidates(pair.native, True))

    @rule(data=st.data())
    def force(self, data: st.DataObject) -> None:
        pair = self._pair(data)
        forced = str(int(pair.reference.force_reasoning_end()))
        assert self.driver.ask("force", pair.native) == [forced]

    @rule(data=st.data())
    def reset(self, data: st.DataObject) -> None:
        pair = self._pair(data)
        pair.reference.reset()
        self.driver.ask("reset", pair.native)

    @rule(data=st.data())
    def clone(self, data: st.DataObject) -> None:
        pair, twin = self._pair(data), len(self.pairs)
        self.driver.ask("clone", pair.native, twin)
        self.pairs.append(Pair(pair.reference.clone(), twin))

    @invariant()
    def rest_is_equal(self) -> None:
        for reference, native in ((pair.reference, pair.native) for pair in self.pairs):
            grammar = reference.grammar
            accepted = grammar.accepted if isinstance(grammar, AllowList) else []
            assert self.driver.accepted_by_grammar(native) == accepted
            budget = self.driver.budget_of(native)
            assert (budget is None) == (reference.budget is None)
            if budget is not None and reference.budget is not None:
                assert budget.state == reference.budget.state
                assert budget.end_match == reference.budget.end_match
            assert self.driver.prev_str(native, 40) == reference.prev_str(40)
            if reference.prev:
                assert self.driver.ask("last", native) == [str(reference.last)]


@pytest.mark.slow
def test_common_sampler_is_llama_cpps_after_any_commands(driver: Driver) -> None:
    limits = settings(
        max_examples=examples(80), stateful_step_count=30, deadline=None, derandomize=True
    )
    machine = type("Machine", (CommonMachine,), {"driver": driver})
    run_state_machine_as_test(machine, settings=limits)
