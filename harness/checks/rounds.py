"""Rounds of speculative sampling that are judged token by token: at each position a drafted token
is accepted for certain, rejected for certain, or either.

A token that the chain leaves alone is accepted, and one with p >= q if drafts are rejected. It
shows what the chain has accepted: the right drafts in their order, and nothing else. The tokens are
compared with those of the reference, as in the backend's release. Each round is then repeated in
another order: it depends on its draft and all bits of its seed alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks import random_block as random
from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.outcome import samplers_at
from sampler_parity.harness.checks.random_block import REMEMBERING, Draw, Parameters, RandomBlock
from sampler_parity.harness.checks.stages.block import GivenCase
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client_serving import speculative
from sampler_parity.harness.protocol.interface import Backend, Rounds
from sampler_parity.harness.strict import Tokens
from sampler_parity.reference import Candidates, UndefinedInputError

_CHAINS = [["penalties"], ["dry"], ["penalties", "dry"], ["dry", "penalties"]]
_BEFORE = {
    name: values for name, values in random.FILTERS.items() if name != "xtc"
}  # xtc has its own seed
_ONE_TOKEN: dict[str, Parameters] = {
    "top_k": {"k": [1]},
    "temp": {"temp": [0.0]},
    "top_p": {"p": [0.0]},
}
_SEVERAL_TOKENS: dict[str, Parameters] = {"top_k": {"k": [2, 3]}, "top_p": {"p": [0.6]}}
_DRAW = {"dist": {"seed": 1}}
_LEAST_RATIO = 1.001  # p and q that are nearer to each other decide nothing
_LIKELY = 1000  # times the other probabilities
_DEEP_DRAFTS = [n for n in random.LADDER if 31 <= n <= 65]  # drafts of a deep block, at times


class RoundsCase(GivenCase):
    """Rounds with given drafts. steps: the positions of a round, one more than it has drafts."""

    check: ClassVar[str] = "rounds"
    chosen_by = ("drafts",)
    requests = ("speculative",)

    rule: Literal["rejection", "matching"] = "rejection"
    """`rejection` of the drafted tokens, or `matching` them with sampled tokens"""
    drafts: list[Tokens] = Field(min_length=1)
    """the drafted tokens of each round; the first `steps` - 1 of them are verified"""
    excluded: list[Tokens] = []
    """for each position, tokens with q = 0 in the draft's row; all others have the same q"""
    likely: list[Tokens] = []
    """for each position, tokens with 1,000 times the q of the others"""

    @property
    def verified(self) -> list[list[int]]:
        return [draft[: self.steps - 1] for draft in self.drafts]

    def drafted_from(self, at: int) -> NDArray[np.float32]:
        """Return q at a position."""
        row = np.ones(self.logits.n, np.float32)
        for lists, weight in ((self.likely, _LIKELY), (self.excluded, 0)):
            row[[token for token in [*lists, *[[]] * (at + 1)][at] if token < len(row)]] = weight
        row /= row.sum()
        return row


Target = Callable[[Sequence[int]], NDArray[np.float32]]


def target_of(prepared: Prepared[Any]) -> Target:
    """Return a function: p behind accepted tokens."""
    fresh, cache = prepared.build(), dict[tuple[int, ...], NDArray[np.float32]]()

    def target(past: Sequence[int]) -> NDArray[np.float32]:
        if tuple(past) not in cache:
            chain, cand = fresh.clone(), Candidates.from_logits(prepared.rows[len(past)])
            for token in past:
                chain.accept(token)
            chain.apply(cand)
            row = cache[tuple(past)] = np.zeros(prepared.case.logits.n, np.float32)
            row[cand.ids] = cand.p
        return cache[tuple(past)]

    return target


def ends_of(case: RoundsCase, target: Target, draft: Sequence[int]) -> list[NDArray[np.float32]]:
    """Return, for each number of accepted drafts, the weights of the tokens that may come behind
    them; all 0: the round cannot end there."""
    ends = []
    for at, token in enumerate(draft):
        p, q = target(draft[:at]), case.drafted_from(at)
        rest = np.maximum(p * _LEAST_RATIO - q, 0)
        if case.rule == "matching":
            q, rest = np.zeros_like(p), p.copy()
            q[token], rest[token] = 1, 0
        certain = q[token] > 0 and (p[token] == 1 or p[token] > q[token] * _LEAST_RATIO)
        ends.append(rest * (not certain))
        if p[token] == 0 or q[token] == 0:
            return ends
    return [*ends, target(draft)]


class RandomRounds(RandomBlock):
    """Random rounds of 1 to 8 drafts. A case has a round for each number of accepted drafts, in
    any order; if tokens are excluded, for each number of drafts that the target would give. Two
    cases are the same but for their logits, or for their history."""

    excludes: bool = False
    """exclude up to 2 tokens from the draft's row of each position, and make up to 2 likely"""
    several: bool = False
    """leave several tokens at a position, so that the rounds accept different drafts"""
    free: bool = False
    """leave all tokens, so that the seeds decide the rounds"""
    deep: bool = False
    """windows, histories and numbers of drafts on a ladder up to 1,025, at most 65 drafts"""
    vocab: str | None = None
    """name of a vocabulary; chains then have a grammar"""

    def case(self, i: int, about: dict[str, Any], seed: int) -> RoundsCase:
        pair = i // 2
        draw, drafted = Draw(seed, pair), 1 + pair % (4 if self.vocab else 8)
        n = draw.one_of(self.sizes)
        if self.deep and pair % 2:
            drafted = draw.one_of(_DEEP_DRAFTS)
        parameters = _BEFORE | REMEMBERING | random.GRAMMARS
        names = [*draw.one_of(_CHAINS), *draw.rng.permutation([*_BEFORE])[: draw.number(0, 1)]]
        names += [[*random.GRAMMARS][pair % 2]] if self.vocab else []
        ends = _SEVERAL_TOKENS if self.several else _ONE_TOKEN
        end = draw.one_of([*ends])
        chain = [draw.stage(name, parameters[name], self.deep) for name in draw.ordered(names)]
        given_tokens = random.CONTROL_TOKENS if self.vocab else n
        past = draw.tokens(0, 24, given_tokens)
        if self.deep:  # few tokens are likely, so that those of the history matter; with any ids
            likely = [n - 1, *draw.rng.permutation(n)[:5].tolist()]
            past = [likely[token % 6] for token in draw.past(n, 7 * pair)]
            chain.insert(0, {"logit_bias": {"logit_bias": [[token, 15.0] for token in likely]}})
        rule = (pair + pair // 8) % (4 if self.several else 2)
        turned = i % 4 == 3  # the second of two cases: another history in place of other logits
        fields: dict[str, Any] = {
            "chain": [_DRAW] if self.free else [*chain, draw.stage(end, ends[end]), _DRAW],
            "steps": drafted + 1,
            "drafts": [[]],
            "logits": {"family": draw.one_of(self.families), "n": n, "seed": seed + i - turned},
            "history": past[::-1] if turned else past,
            "rule": "rejection" if rule else "matching",
            "vocab": self.vocab,
        }
        case = RoundsCase.model_validate(about | fields)
        repeats = 64 if self.free else 2 if self.several else 1
        accepted = draw.rng.permutation([*range(drafted + 1)] * repeats)[: 64 if drafted < 9 else 6]
        target = target_of(prepare(case))
        full_draft = _draft(draw, case, target, drafted, [])
        drafts = [_draft(draw, case, target, number, full_draft) for number in accepted]
        often = [*full_draft, *case.history]
        for draft in drafts:
            draft += [draw.one_of(often) for _ in range(drafted - len(draft))]

        def some() -> list[list[int]]:
            candidates = [[token, *often[: 2 * drafted]] for token in full_draft * self.excludes]
            return [[draw.one_of(few) for _ in range(draw.number(0, 2))] for few in candidates]

        return case.model_copy(update={"drafts": drafts, "excluded": some(), "likely": some()})


def _draft(
    draw: Draw, case: RoundsCase, target: Target, accepted: int, like: Sequence[int]
) -> list[int]:
    """Return a draft of so many tokens that are accepted for certain, and one that is not. like:
    another draft, whose tokens it has where they are possible, so that some differ in order."""
    draft: list[int] = []
    for at in range(min(accepted + 1, case.steps - 1)):
        p, q = target(draft), case.drafted_from(at)
        sure = (p == 1) | (p > (0 if case.rule == "matching" else q * _LEAST_RATIO))
        possible = np.flatnonzero(p == 0 if at == accepted else sure).tolist() or [int(p.argmax())]
        liked = [token for token in possible if like.count(token) > draft.count(token)]
        draft.append(draw.one_of(liked or possible))
    return draft


_RARE = 1e-12  # that two draws of all rounds are the same by chance


def judge(
    case: RoundsCase, backends: Sequence[Backend], _: Path | None, releases: Mapping[str, str]
) -> CaseResult:
    """Return the result. Raises InputError for drafts that do not fit."""
    drafted, n = case.steps - 1, case.logits.n
    if not drafted or any(len(d) < drafted or max(d) >= n for d in case.verified):
        raise InputError(case.id, f"drafts: each must have {drafted} tokens below {n}")
    if any(len({t for t in tokens if t < n}) > n - 2 for tokens in case.excluded):
        raise InputError(case.id, "excluded: two tokens must stay possible at each position")
    prepared, refusal = prepare(case), ""
    try:
        _wanted(prepared)
    except UndefinedInputError as error:
        refusal, backends = str(error), []
    result = result_of_each(
        case, len(case.drafts), releases, backends, partial(_on, prepared, releases)
    )
    return result.model_copy(update={"refusal": refusal})


def _wanted(prepared: Prepared[RoundsCase]) -> list[list[NDArray[np.float32]]]:
    target = target_of(prepared)
    return [ends_of(prepared.case, target, draft) for draft in prepared.case.verified]


def _on(
    prepared: Prepared[RoundsCase], releases: Mapping[str, str], backend: Backend
) -> BackendResult:
    meant = samplers_at(releases.get(backend.name), prepared.case.samplers)
    expected = _wanted(replace(prepared, samplers=meant))
    drafts = np.array(prepared.case.verified, np.int32)
    rows = np.array([prepared.case.drafted_from(at) for at in range(drafts.shape[1])])
    i = np.arange(len(drafts))
    seeds = (i // 2 % 4 + i % 2 * 2**31).astype(np.uint32)  # neighbours, equal ones, of 32 bits
    request = Rounds(np.array(prepared.rows), rows, drafts, seeds)

    def ask(chosen: NDArray[np.int64], flipped: int = 0) -> tuple[list[list[int]], int]:
        subset = replace(request, drafts=drafts[chosen], seeds=seeds[chosen] ^ np.uint32(flipped))
        emitted, ns = speculative(backend, prepared.setting, prepared.case.rule, subset)
        return [[token for token in row if token >= 0] for row in emitted.tolist()], ns

    got, ns = ask(i)

    def wrong(at: int, tokens: list[int], expected: object, detail: str) -> BackendResult:
        values = {"got": tokens, "expected": expected}
        fields = {"step": at, "stage": "token", "what": "token", "values": values}
        detail = f"the draft is {drafts[at].tolist()}{detail}"
        return BackendResult.model_validate(
            fields | {"verdict": "diverged", "ns": ns, "detail": detail}
        )

    for at, tokens in enumerate(got):
        if not _fits(tokens, expected[at], prepared.case.verified[at]):
            return wrong(at, tokens, _expected(expected[at], prepared.case.verified[at]), "")
    for indices in ([*i[::-1], *i[:3]], i[-1:]):
        for at, tokens in zip(indices, ask(np.array(indices))[0], strict=True):
            if tokens != got[at]:
                return wrong(int(at), tokens, got[at], ", asked again in another order")
    same = math.prod(max(map(_coincidence, ends)) for ends in expected)
    for bit in range(32) if same < _RARE else []:
        if ask(i, 1 << bit)[0] == got:
            return wrong(0, got[0], "other tokens", f", bit {bit} of the seeds has no effect")
    return BackendResult(verdict="identical", ns=ns)


def _fits(tokens: list[int], ends: list[NDArray[np.float32]], draft: list[int]) -> bool:
    accepted = len(tokens) - 1
    if not 0 <= accepted < len(ends) or tokens[:-1] != draft[:accepted]:
        return False
    return bool(ends[accepted][tokens[-1]] > 0)


def _expected(ends: list[NDArray[np.float32]], draft: list[int]) -> list[object]:
    """Return the tokens of a round, the last of which may be a list; or all such rounds."""
    last = [np.flatnonzero(end).tolist() for end in ends]
    ways: list[object] = [
        [*draft[:at], tokens[0] if len(tokens) == 1 else tokens]
        for at, tokens in enumerate(last)
        if tokens
    ]
    return ways[0] if len(ways) == 1 else ways  # type: ignore[return-value]


def _coincidence(end: NDArray[np.float32]) -> float:
    """Return the probability that two draws are the same."""
    return float(((end / max(end.sum(), 1e-9)) ** 2).sum())
