"""Compare the tokens of each round with those of the reference, as in the backend's release. Then
ask again, in another order: a round depends on its draft and all bits of its seed alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.case import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.outcome import samplers_at
from sampler_parity.harness.checks.rounds.block import RoundsCase, ends_of, target_of
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client_speculative import speculative
from sampler_parity.harness.protocol.interface import Backend, Rounds
from sampler_parity.reference import UndefinedInputError

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
