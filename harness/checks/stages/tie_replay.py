"""Judge a run whose backend decides otherwise between equal ones, from its own choices.

The reference runs every stage again, on the candidates that this backend left. The ids are the
backend's, if they are a choice among equals. The values are always the reference's own, so that no
error of one stage excuses another's. It accepts the tokens that the backend selected. Any
difference that remains is not caused by ties.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sampler_parity.harness.checks.stages.classify import Difference, classify, identical
from sampler_parity.harness.checks.stages.own_random import is_random, stages_as, steer
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, as_it_is, begin
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.harness.verdicts import Verdict, worst
from sampler_parity.reference import Candidates, Chain, UndefinedInputError
from sampler_parity.reference.sampler import Sampler


@dataclass(frozen=True)
class RunMismatch:
    """A difference of a run; want, got: the arrays there, if it is a stage."""

    step: int
    stage: str
    index: int
    difference: Difference
    want: Candidates | None = None
    got: Got | None = None


@dataclass
class Followed:
    """The replay. trace: what the backend should have left, with its own choices. places: each
    difference."""

    trace: Trace = field(default_factory=list)
    places: list[RunMismatch] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        return worst([mismatch.difference.verdict for mismatch in self.places])

    @property
    def ties(self) -> bool:
        return any(mismatch.difference.ties for mismatch in self.places)

    @property
    def first(self) -> RunMismatch:
        """The first place with the verdict of the whole, or a boundary before it, which the
        reference does not follow."""
        of = (self.verdict, "boundary")
        return next(mismatch for mismatch in self.places if mismatch.difference.verdict in of)


def follow(
    prepared: Prepared, trace: Trace, ran: Ran, followed: Followed, own_random: bool = False
) -> None:
    """Fill `followed` up to the first stage that diverges. trace: the reference's own.
    own_random: the backend draws with its own random numbers."""
    try:
        for mismatch in _places(prepared, trace, ran, followed.trace, own_random):
            followed.places.append(mismatch)
            if mismatch.difference.verdict == "diverged":
                return
    except UndefinedInputError:
        if not own_random:  # its own draws lead to a step that is undefined: those before it count
            raise


def _places(
    prepared: Prepared, trace: Trace, ran: Ran, replayed: Trace, own_random: bool
) -> Iterator[RunMismatch]:
    """Yield each difference in order. replayed: filled with what the backend should leave."""
    instances = [prepared.build() for _ in range(prepared.instances)]
    for i, (reference, token) in enumerate(zip(trace, ran.tokens, strict=True)):
        step = prepared.steps[i]
        chain, cand = begin(prepared, instances, step)
        replayed.append([])
        before, sampler = cand, chain.samplers[0]
        stages = ran.stages[i]
        if own_random and len(stages) < len(chain.samplers):
            yield from _at_the_end(i, chain, cand, token, stages)
            stages = []
        elif own_random and any(map(is_random, chain.samplers)):
            stages = stages[: len(chain.samplers)]  # the chain as one object draws once more
        for j, got in enumerate(stages):
            is_end = j == len(chain.samplers)
            if not is_end:
                before, sampler = cand.copy(), as_it_is(chain.samplers[j])
                try:
                    if own_random:
                        steer(chain.samplers[j], before, got)
                    chain.samplers[j].apply(cand)
                except UndefinedInputError as error:
                    if own_random:
                        raise
                    refused = {"refused": str(error)}
                    yield RunMismatch(i, sampler.name, j, Difference("diverged", "ids", refused))
                    return
            want, difference = cand.copy(), _judged(cand, got, before, sampler, is_end)
            if not is_end:
                _choose(cand, got, before, difference)
                if not own_random:
                    difference = _beside(reference[j], cand, difference)
                replayed[-1].append(cand.copy())
            if difference.verdict != "identical":
                yield RunMismatch(i, "chain" if is_end else sampler.name, j, difference, want, got)
        if token != cand.token:
            tokens = {"got": token, "expected": cand.token}
            last = Difference("diverged", "token", tokens)
            yield RunMismatch(i, "token", len(chain.samplers), last)
        accepted = cand.token if step.accept == "selected" else step.accept
        if accepted is not None:
            chain.accept(accepted)


def _at_the_end(
    step: int, chain: Chain, cand: Candidates, token: int | None, ends: list[Got]
) -> Iterator[RunMismatch]:
    """Apply a chain as a backend did that draws with its own numbers and shows its token, or also
    the end of its chain; yield a difference at this end."""
    *before, _ = cand.copy(), *stages_as(chain, cand, token, ends)
    for got in ends:
        difference = _judged(cand, got, before[-1], chain.samplers[-1], is_end=True)
        if difference.verdict != "identical":
            yield RunMismatch(step, "chain", len(chain.samplers), difference, cand.copy(), got)


def _judged(
    want: Candidates, got: Got, before: Candidates, sampler: Sampler, is_end: bool
) -> Difference:
    if identical(want, got):
        return Difference("identical")
    difference = classify(want, got, before, sampler)
    # the same backend, the same input: the chain as one object chooses as its stages do
    return replace(difference, verdict="diverged") if is_end and difference.ties else difference


def _choose(cand: Candidates, got: Got, before: Candidates, difference: Difference) -> None:
    """Change the reference's candidates to those that it leaves with the backend's choices."""
    if difference.verdict in ("reordered", "tied"):  # each with its own values, to the bit
        cand.ids, cand.logits, cand.p = got.ids.copy(), got.logits.copy(), got.p.copy()
    elif difference.ties and difference.verdict == "close":
        p = np.zeros(1 + max(before.ids.max(), got.ids.max()), cand.p.dtype)
        p[got.ids], logits = got.p, np.zeros_like(p)
        p[cand.ids], logits[before.ids] = cand.p, before.logits
        cand.ids, cand.logits, cand.p = got.ids.copy(), logits[got.ids], p[got.ids]


def _beside(reference: Candidates, replayed: Candidates, difference: Difference) -> Difference:
    """Return a tie if the replay agrees, but the reference itself keeps other tokens."""
    same = difference.verdict in ("identical", "reordered")
    if same and not np.array_equal(np.sort(reference.ids), np.sort(replayed.ids)):
        return Difference("tied", "ids", difference.values, ties=True)
    return difference
