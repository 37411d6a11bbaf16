"""Compare the tokens of each round with those of the reference, as in the backend's release."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from sampler_parity.harness.checks.by_tokens import result_of_each
from sampler_parity.harness.checks.outcome import samplers_at
from sampler_parity.harness.checks.rounds.block import RoundsCase, round_of
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.checks.stages.record import BackendResult, CaseResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.client_speculative import speculative
from sampler_parity.harness.protocol.interface import Backend, Rounds
from sampler_parity.reference import UndefinedInputError


def judge(
    case: RoundsCase, backends: Sequence[Backend], _: Path | None, releases: Mapping[str, str]
) -> CaseResult:
    """Return the result. Raises InputError for drafts that do not fit."""
    drafted, n = case.steps - 1, case.logits.n
    if not drafted or any(len(d) < drafted or max(d) >= n for d in case.verified):
        raise InputError(case.id, f"drafts: each must have {drafted} tokens below {n}")
    if any(len({t for t in tokens if t < n}) > n - 2 for tokens in case.excluded):
        raise InputError(case.id, "excluded: two tokens must stay possible at each position")
    ready, refusal = prepare(case), ""
    try:
        _wanted(ready)
    except UndefinedInputError as error:
        refusal, backends = str(error), []
    result = result_of_each(
        case, len(case.drafts), releases, backends, partial(_on, ready, releases)
    )
    return result.model_copy(update={"refusal": refusal})


def _wanted(ready: Prepared[RoundsCase]) -> list[list[list[int]]]:
    return [round_of(ready, draft) for draft in ready.case.verified]


def _on(
    ready: Prepared[RoundsCase], releases: Mapping[str, str], backend: Backend
) -> BackendResult:
    meant = samplers_at(releases.get(backend.name), ready.case.samplers)
    wanted = _wanted(replace(ready, samplers=meant))
    drafts = np.array(ready.case.verified, np.int32)
    rows = np.array([ready.case.drafted_from(at) for at in range(drafts.shape[1])])
    seeds = np.arange(len(drafts), dtype=np.uint32)
    given = Rounds(np.array(ready.rows), rows, drafts, seeds)
    emitted, ns = speculative(backend, ready.setting, ready.case.rule, given)
    got = [[token for token in row if token >= 0] for row in emitted.tolist()]
    for i in (i for i, tokens in enumerate(got) if not _fits(tokens, wanted[i])):
        expected = [each[0] if len(each) == 1 else each for each in wanted[i]]
        values = {"got": got[i], "expected": expected}
        place = {"step": i, "stage": "token", "what": "token", "values": values}
        detail = f"the draft is {drafts[i].tolist()}"
        return BackendResult.model_validate(
            place | {"verdict": "diverged", "ns": ns, "detail": detail}
        )
    return BackendResult(verdict="identical", ns=ns)


def _fits(tokens: list[int], wanted: list[list[int]]) -> bool:
    return len(tokens) == len(wanted) and all(map(list.__contains__, wanted, tokens))
