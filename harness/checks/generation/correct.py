"""Judge the tokens of a text by the specification.

A backend that generates reports logits and tokens, but no stages. It gets the logits again, as
steps that show their stages and accept the tokens of the text. Each stage is judged; and the last
one as if it had selected the text's token, in case its steps select another one.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.checks.generation.events import Event, SampledToken
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.correct import judge_run, result_of
from sampler_parity.harness.checks.stages.prefixes import stages_by_prefixes
from sampler_parity.harness.checks.stages.prepared import Prepared
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.sequences import Text


def judge_events(
    backend: Backend, model: str, text: Text, events: Sequence[Event], result: BackendResult
) -> BackendResult:
    """Return the verdict on all events of a text, whose tokens are not the reference's. It stays
    `result` if the backend does not take the steps."""
    prepared, taken = steps_of(model, text, events)
    hello = backend.hello()
    try:
        ran = client.run(
            backend, prepared.setting, prepared.rows, prepared.steps, whole_chain=False
        )
        if "no_stages" in hello.capabilities:
            ran = stages_by_prefixes(prepared, ran, backend)
    except BackendFailure as failure:
        detail = f"not judged by the specification: {failure}"
        return result.model_copy(update={"detail": detail})
    tokens = [sample.token for sample in taken]
    stages = [_selecting(*pair) for pair in zip(ran.stages, tokens, strict=True)]
    text_of = replace(ran, tokens=[*tokens], stages=stages)
    judged = judge_run(prepared, text_of, len(tokens), hello.arithmetic)
    if judged.wrong is not None:
        judged.wrong = replace(judged.wrong, step=taken[judged.wrong.step].step)
    verdict = result_of(judged, result.ns)
    differing = sum(drawn != token for drawn, token in zip(ran.tokens, tokens, strict=True))
    if verdict.verdict == "correct" and differing:
        return verdict.model_copy(update={"detail": f"its steps draw {differing} other tokens"})
    return verdict


def steps_of(
    model: str, text: Text, events: Sequence[Event]
) -> tuple[Prepared, list[SampledToken]]:
    """Return the text as steps on given logits, and the token of each. Forced tokens, which come
    first, are history."""
    history, instance = [*text.prompt], 0
    before: list[tuple[Literal["reset", "clone"], int]] = []
    steps: list[p.Step] = []
    taken: list[SampledToken] = []
    for event in events:
        if event == "reset" and not steps:
            history = []
        elif event == "reset":
            before.append(("reset", instance))
        elif event == "cloned":
            before.append(("clone", instance))
            instance += 1
        elif event.forced:
            history.append(event.token)
        else:
            of_step = {"row": len(steps), "instance": instance, "accept": event.token}
            steps.append(p.Step.model_validate(of_step | {"before": before}))
            taken.append(event)
            before = []
    rows = [sample.row for sample in taken]
    case = StagesCase.model_construct(
        chain=text.chain, history=history, logits=LiteralRows.model_construct(rows=rows)
    )
    return Prepared(case, text.chain, rows, steps, 1, read_vocab(Path(model)), model), taken


def _selecting(stages: list[Got], token: int) -> list[Got]:
    """Return the stages with this token selected by the last one, if that has it."""
    at = np.flatnonzero(stages[-1].ids == token)
    if len(at) == 0 or stages[-1].token == token:
        return stages
    return [*stages[:-1], replace(stages[-1], selected=int(at[0]))]
