"""Check the effect of a seed and a reset on the tokens of two chains, for any random numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.checks.by_tokens import TokensCase, property_of, result_of_each
from sampler_parity.harness.checks.stages.prepared import prepare
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend

Streams = Literal["same_seed", "other_seed", "reset"]


class StreamsCase(TokensCase):
    """A condition on the tokens of two chains."""

    check: ClassVar[str] = "streams"
    chosen_by = ("streams",)
    shrinks = False  # streams of one token are all equal

    streams: Streams
    """relation of the second chain to the first: `other_seed` makes every seed one larger"""


def judge(
    case: StreamsCase,
    backends: Sequence[Backend],
    artifacts: Path | None,
    releases: Mapping[str, str],
) -> CaseResult:
    return result_of_each(case, 2 * case.steps, releases, backends, partial(_on, case))


def _on(case: StreamsCase, backend: Backend) -> BackendResult:
    prepared, n = prepare(case), case.steps
    chain = complete(case.chain_on(backend.name), case.logits.n)
    setting, rows = replace(prepared.setting, chain=chain), prepared.rows
    instance = [p.Step(row=i) for i in range(n)]
    if case.streams == "other_seed":
        changed = replace(setting, chain=_other_seed(chain))
        runs = [
            client.run(backend, each_setting, rows, instance, detail="token")
            for each_setting in (setting, changed)
        ]
        first, two, ns = runs[0].tokens, runs[1].tokens, runs[0].ns + runs[1].ns
    elif case.streams == "reset":
        after_reset = [p.Step(row=i, before=[("reset", 0)] if i == 0 else []) for i in range(n)]
        ran = client.run(backend, setting, rows, instance + after_reset, detail="token")
        first, two, ns = ran.tokens[:n], ran.tokens[n:], ran.ns
    else:
        turns = [p.Step(row=i // 2, instance=i % 2) for i in range(2 * n)]
        ran = client.run(backend, setting, rows, turns, instances=2, detail="token")
        first, two, ns = ran.tokens[::2], ran.tokens[1::2], ran.ns
    detail = wrong(case, first, two)
    if not detail:
        return BackendResult(verdict="identical", ns=ns)
    return BackendResult(verdict="diverged", ns=ns, step=0, stage=property_of(case), detail=detail)


def wrong(case: StreamsCase, first: list[int | None], two: list[int | None]) -> str:
    """Return the error in the tokens of two chains, or of one before and after its reset; or ''."""
    if None in (*first, *two):
        return "no token was selected"
    if len(set(first)) == 1:
        return f"the same token {len(first)} times: no draw"
    if case.streams == "other_seed":
        return f"another seed draws the same {len(first)} tokens" if first == two else ""
    if first == two:
        return ""
    at = next(i for i, (a, b) in enumerate(zip(first, two, strict=True)) if a != b)
    what = "a reset does not begin anew" if case.streams == "reset" else "the same seed differs"
    return f"{what}: token {at + 1} is {first[at]}, then {two[at]}"


def _other_seed(chain: p.ChainSpec) -> p.ChainSpec:
    """Return the chain with every seed increased by one."""
    return [
        {
            name: {key: v + 1 if key.startswith("seed") else v for key, v in parameters.items()}
            for name, parameters in stage.items()
        }
        for stage in chain
    ]
