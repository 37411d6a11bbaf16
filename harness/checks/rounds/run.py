"""Compare the tokens of each round with those of the reference."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from sampler_parity.harness.checks.by_tokens import result_of_each
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
    ready, refusal = prepare(case), ""
    try:
        wanted = [round_of(ready, draft) for draft in case.verified]
    except UndefinedInputError as error:
        wanted, refusal, backends = [], str(error), []
    asked = partial(_on, ready, wanted)
    result = result_of_each(case, len(case.drafts), releases, backends, asked)
    return result.model_copy(update={"refusal": refusal})


def _on(ready: Prepared[RoundsCase], wanted: list[list[int]], backend: Backend) -> BackendResult:
    drafts = np.array(ready.case.verified, np.int32)
    n = ready.case.logits.n
    equal = np.full((drafts.shape[1], n), 1 / n, np.float32)  # the draft may give any token
    seeds = np.arange(len(drafts), dtype=np.uint32)
    given = Rounds(np.array(ready.rows), equal, drafts, seeds)
    emitted, ns = speculative(backend, ready.setting, ready.case.rule, given)
    got = [[token for token in row if token >= 0] for row in emitted.tolist()]
    for i in (i for i, tokens in enumerate(got) if tokens != wanted[i]):
        values = {"got": got[i], "expected": wanted[i]}
        place = {"step": i, "stage": "token", "what": "token", "values": values}
        detail = f"the draft is {drafts[i].tolist()}"
        return BackendResult.model_validate(
            place | {"verdict": "diverged", "ns": ns, "detail": detail}
        )
    return BackendResult(verdict="identical", ns=ns)
