"""Find the wrong stage of a chain with only its end visible: run its prefixes, shortest first.

Each prefix accepts the tokens that the reference's whole chain selected, so it has the same state
as the whole chain at the same logits.
"""

from contextlib import suppress
from dataclasses import replace

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.stages.classify import classify, identical
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, state_before
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.harness.protocol.client_serving import changed
from sampler_parity.harness.protocol.interface import Backend, BackendFailure


def by_prefixes(
    prepared: Prepared, trace: Trace, backend: Backend, result: BackendResult
) -> BackendResult:
    """Return the result, placed at the last stage of the first prefix that differs. A backend with
    stages stays at `chain`: each of them is correct alone."""
    has_stages = "no_stages" not in backend.hello().capabilities
    steps = _steps(prepared, trace)
    for length in range(1, len(prepared.chain) + 1):
        try:
            placed = _difference(prepared, trace, backend, steps, length)
        except BackendFailure as failure:
            detail = f"{failure.verdict} in its prefix of {length}: {failure}"
            return result.model_copy(update={"detail": detail})
        if placed is None:
            continue
        name = prepared.case.samplers[length - 1]
        detail = f"its prefix of {length} stages, up to {name}, is the first that differs"
        if has_stages:
            return result.model_copy(update={"detail": detail})
        update = placed | {"stage": name, "stage_index": length - 1, "detail": detail}
        return result.model_copy(update=update)
    return result.model_copy(update={"detail": "no prefix of it differs when asked by itself"})


def by_written_rows(
    prepared: Prepared, trace: Trace, backend: Backend, result: BackendResult
) -> BackendResult:
    """Return the result, placed at the first stage that writes into its row of logits, if an
    earlier step sampled this row: the stage that shows it is right."""
    steps = prepared.steps[: len(trace)]
    before = {step.row for step in steps[: result.step]}
    if result.verdict != "diverged" or not result.step or steps[result.step].row not in before:
        return result
    with suppress(BackendFailure):
        for index, name in enumerate(prepared.case.samplers):
            setting = replace(prepared.setting, chain=prepared.chain[: index + 1])
            client.run(backend, setting, prepared.rows, steps, instances=prepared.instances)
            if changed(backend, prepared.rows, prepared.case.dtype):
                update = {"stage": name, "stage_index": index, "what": "", "values": {}}
                detail = "it writes into its row of logits, which a later step samples again"
                return result.model_copy(update=update | {"detail": detail})
    return result


def stages_by_prefixes(prepared: Prepared, ran: Ran, backend: Backend) -> Ran:
    """Return the run with all stages, each the end of a prefix, which accepts the backend's tokens.
    Raises BackendFailure."""
    steps = [
        step.model_copy(update={"accept": token}) if step.accept == "selected" else step
        for step, token in zip(prepared.steps, ran.tokens, strict=False)
    ]
    ends: list[list[Got]] = []  # copies, because the next request overwrites the arrays
    whole = [stages[-1].copy() for stages in ran.stages] if all(ran.stages) else None
    for length in range(1, len(prepared.chain) + (whole is None)):
        setting = replace(prepared.setting, chain=prepared.chain[:length])
        rerun = client.run(backend, setting, prepared.rows, steps, instances=prepared.instances)
        ends.append([stages[-1].copy() for stages in rerun.stages])
    if whole is not None:
        ends.append(whole)
    return replace(ran, stages=[list(of_step) for of_step in zip(*ends, strict=True)])


def _steps(prepared: Prepared, trace: Trace) -> list[p.Step]:
    return [
        step.model_copy(update={"accept": stages[-1].token}) if step.accept == "selected" else step
        for step, stages in zip(prepared.steps, trace, strict=False)
    ]


def _difference(
    prepared: Prepared, trace: Trace, backend: Backend, steps: list[p.Step], length: int
) -> dict[str, object] | None:
    """Return the first difference after this many stages: step, what, values."""
    setting = replace(prepared.setting, chain=prepared.chain[:length])
    ran = client.run(backend, setting, prepared.rows, steps, instances=prepared.instances)
    for i, (want_stages, stages) in enumerate(zip(trace, ran.stages, strict=True)):
        want, got = want_stages[length - 1], stages[-1]
        if not identical(want, got):
            before, sampler = state_before(prepared, i, length - 1)
            difference = classify(want, got, before, sampler)
            values = p.plain(difference.values)
            return {"step": i, "what": difference.what, "values": values}
    return None
