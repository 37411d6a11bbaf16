"""Judge a run from what the backend itself left, stage by stage and step by step.

The reference applies each stage to the candidates of the backend. If it gives the same bits, the
stage is correct; else the judge of the sampler decides. States follow the backend: histories have
its tokens, random streams go on, and what is computed (mu, averages) is an interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.classify import classify, identical, read_strictly
from sampler_parity.harness.checks.stages.own_random import is_random, steer
from sampler_parity.harness.checks.stages.prepared import (
    Prepared,
    as_it_is,
    prepare,
    reference_trace,
)
from sampler_parity.harness.correct.bounds import Decision, Interval
from sampler_parity.harness.correct.draws import accept_adaptive_p
from sampler_parity.harness.correct.judges import JUDGES, judge_of
from sampler_parity.harness.correct.softmax import is_defined
from sampler_parity.harness.correct.stage import Cut, Held, Stage, Wrong, stated
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import LLAMA_CPP, Arithmetic
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.harness.verdicts import BY_ANY_SORT, Verdict
from sampler_parity.reference import Candidates, Chain, UndefinedInputError
from sampler_parity.reference.random import Mt19937, discrete
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2

# Identical results need no judge. The others' may keep a state: intervals that it moves on.
_STATELESS = JUDGES.keys() - {"mirostat", "mirostat_v2", "adaptive_p"}


@dataclass
class Memory:
    """The state of one chain: the reference's samplers, and intervals of what they compute.
    undefined: whether a stage had an undefined input, which the state may follow."""

    chain: Chain
    intervals: list[dict[str, Interval]]
    latest: dict[int, Stage] = field(default_factory=dict)
    undefined: bool = False

    @classmethod
    def of(cls, chain: Chain) -> "Memory":
        return cls(chain, [{} for _ in chain.samplers])

    def clone(self) -> "Memory":
        intervals = [dict(by_name) for by_name in self.intervals]
        return Memory(self.chain.clone(), intervals, undefined=self.undefined)

    def reset(self) -> None:
        self.chain.reset()
        self.latest.clear()
        self.undefined = False
        for by_name in self.intervals:
            by_name.clear()

    def accept(self, token: int | None) -> None:
        """Accept a token, if there is one."""
        if token is None:
            return
        self.chain.accept(token)
        for stage in self.latest.values():
            accept_adaptive_p(stage, token)


@dataclass(frozen=True)
class Place:
    """The first stage that no correctly rounded evaluation explains."""

    step: int
    stage: str
    index: int
    what: str
    values: dict[str, Any]


@dataclass
class Judged:
    """A run.

    wrong: where it is not correct.
    undefined: whether this stage or an earlier one had an undefined input.
    explained: the first stage that is right only in the strict reading of a grammar.
    cuts: by sampler, its decisions.
    identical: judge also the stages that are identical, of which a judge knows nothing else.
    rounded: whether values differ from the reference's, not only their order.
    """

    wrong: Place | None = None
    undefined: bool = False
    explained: Place | None = None
    identical: bool = False
    rounded: bool = False
    cuts: dict[str, list[Cut]] = field(default_factory=dict)


def exact_decisions(case: StagesCase) -> set[tuple[str, *Decision]]:
    """Return the exact decisions of a case, each with its sampler: those that the judges find in
    the results of the reference in float32. Raises ValueError if a judge rejects them."""
    prepared = prepare(case)
    trace, _ = reference_trace(prepared)
    stages = [[Got(c.ids, c.logits, c.p, None, c.selected) for c in stages] for stages in trace]
    ran, judged = Ran([step[-1].token for step in trace], stages, 0), Judged(identical=True)
    judge_run(prepared, ran, len(trace), LLAMA_CPP, judged)
    if judged.wrong:
        raise ValueError(f"{case.id}: the judge rejects the reference: {judged.wrong}")
    return {
        (name, *decision)
        for name, cuts in judged.cuts.items()
        for cut in cuts
        for decision in cut.exact
    }


def judge_run(
    prepared: Prepared[Any],
    ran: Ran,
    steps: int,
    arithmetic: Arithmetic,
    judged: Judged | None = None,
    own_random: bool = False,
) -> Judged:
    """Judge the first steps of a run. Stops at the first stage that is not correct. own_random: the
    backend draws with random numbers of its own."""
    judged = judged or Judged()
    memories = [Memory.of(prepared.build()) for _ in range(prepared.instances)]
    for i, step in enumerate(prepared.steps[:steps]):
        for operation, index in step.before:
            if operation == "reset":
                memories[index].reset()
            else:
                memories.append(memories[index].clone())
        memory, token, row = memories[step.instance], ran.tokens[i], prepared.rows[step.row]
        before = judged.explained
        wrong = judge_sample(
            memory, prepared.chain, row, ran.stages[i], token, arithmetic, judged, own_random
        )
        if wrong is not None:
            judged.wrong = replace(wrong, step=i)
            return judged
        if before is None and judged.explained is not None:
            judged.explained = replace(judged.explained, step=i)
        memory.accept(token if step.accept == "selected" else step.accept)
    return judged


def judge_sample(
    memory: Memory,
    chain: p.ChainSpec,
    row: Any,
    results: Sequence[Got],
    token: int | None,
    arithmetic: Arithmetic,
    judged: Judged,
    own_random: bool = False,
) -> Place | None:
    """Judge the stages of a step and its token; return the first that is wrong, as of step 0."""
    held, samplers = Held.of_row(row), memory.chain.samplers
    for j, got in enumerate(results):
        if j == len(samplers):  # the chain as one object, on the same input
            drawn_again = own_random and any(map(is_random, samplers))
            if not drawn_again and not _same(results[j - 1], got):
                return Place(0, "chain", j, "ids", {})
            break
        (parameters,) = chain[j].values()
        memory.undefined |= not is_defined(held.logits)
        try:
            if own_random:
                steer(samplers[j], held.candidates(), got, by_report=True)
            held = judge_stage(memory, j, parameters, held, got, arithmetic, judged)
        except Wrong as wrong:
            judged.undefined = memory.undefined and _is_possible(got, held)
            return Place(0, samplers[j].name, j, wrong.what, p.plain(wrong.values))
    if results and token != results[-1].token:
        values = {"got": token, "expected": results[-1].token}
        return Place(0, "token", len(samplers), "token", values)
    return None


def _first_is_removed(held: Held) -> bool:
    """Return whether candidates flagged as sorted begin with -inf. llama.cpp takes it for the
    largest logit, and every p is NaN; an engine that looks for the largest one has numbers."""
    return held.sorted and len(held.logits) > 0 and held.logits[0] == -np.inf


def _is_possible(got: Got, before: Held) -> bool:
    """Return whether these are candidates before, each once, and one of them or none is selected:
    an undefined input excuses nothing else."""
    once = len(np.unique(got.ids)) == len(got.ids) and np.isin(got.ids, before.ids).all()
    return bool(once and -1 <= got.selected < len(got.ids))


def judge_stage(
    memory: Memory,
    j: int,
    parameters: Mapping[str, Any],
    before: Held,
    got: Got,
    arithmetic: Arithmetic,
    judged: Judged,
) -> Held:
    """Judge stage j and return what the backend left. Raises Wrong."""
    sampler = memory.chain.samplers[j]
    earlier, want = as_it_is(sampler), before.candidates()
    try:
        if getattr(sampler, "applies", True):
            sampler.apply(want)
    except UndefinedInputError as error:
        raise Wrong("ids", refused=str(error)) from None
    same = identical(want, got)
    judged.rounded |= not same and not np.array_equal(np.sort(want.p), np.sort(got.p), True)
    judge = judge_of(sampler.name)
    if (
        isinstance(earlier, Grammar)
        and not same
        and identical(read_strictly(before.candidates(), earlier), got)
    ):
        judged.explained = judged.explained or Place(0, sampler.name, j, "logits", {})
        return Held.left(got, want.sorted, arithmetic)
    if not same and judge is None:
        _as_another_sort(want, got, before, earlier)
    elif judge is not None and (not same or judged.identical or sampler.name not in _STATELESS):
        stage = Stage(before, earlier, want, got, parameters, arithmetic, memory.intervals[j])
        try:
            with np.errstate(all="ignore"):
                judge(stage)
                _flag(stage)
        except Wrong as wrong:
            reads_p = "softmax" in vars(stage)
            memory.undefined |= reads_p and _first_is_removed(before)
            raise stated(wrong, stage) from None
        memory.latest[j] = stage
        if isinstance(sampler, Mirostat | MirostatV2) and min(len(want), len(got.ids)) < 2:
            sampler.rng = _drawn(earlier, len(got.ids))
        judged.cuts.setdefault(sampler.name, []).extend(stage.cuts)
    flag = want.sorted if got.sorted is None else got.sorted  # `_flag` has accepted it
    return Held.left(got, flag, arithmetic)


def _drawn(earlier: Any, n: int) -> Mt19937:
    """Return the random numbers that follow a draw of one of n: their number may differ from that
    of the reference, which may have drawn from one."""
    rng: Mt19937 = earlier.rng.clone()
    discrete(rng, np.ones(n))
    return rng


def _flag(stage: Stage) -> None:
    """Require a reported `sorted` to be the specification's; or true, where min_p chose to sort."""
    flag = stage.got.sorted
    if flag in (None, stage.want.sorted):
        return
    if stage.sampler.name == "min_p" and (np.diff(stage.got.logits) <= 0).all():
        return
    raise Wrong("sorted", got=flag, expected=stage.want.sorted)


def _as_another_sort(want: Candidates, got: Got, before: Held, sampler: Sampler) -> None:
    difference = classify(want, got, before.candidates(), sampler)
    if difference.verdict not in BY_ANY_SORT:
        raise Wrong(difference.what, **difference.values)


def _same(a: Got, b: Got) -> bool:
    result = Candidates(a.ids, a.logits, a.p, bool(a.sorted), a.selected)
    flag = a.sorted if b.sorted is not None else None
    return identical(result, Got(b.ids, b.logits, b.p, flag, b.selected))


def result_of(judged: Judged, ns: int) -> BackendResult:
    """Return the verdict, with the first stage that is wrong or explained, or with the cuts that
    lean."""
    if (mismatch := judged.wrong or judged.explained) is not None:
        wrong: Verdict = "undefined" if judged.undefined else "diverged"
        return BackendResult(
            verdict=wrong if judged.wrong else "explained",
            ns=ns,
            step=mismatch.step,
            stage=mismatch.stage,
            stage_index=mismatch.index,
            what=mismatch.what,
            values=mismatch.values,
        )
    leans = [cut.lean for cuts in judged.cuts.values() for cut in cuts]
    late_cuts, early = sum(lean > 0 for lean in leans), sum(lean < 0 for lean in leans)
    return BackendResult(verdict="correct", ns=ns, late=late_cuts, early=early)
