"""A case as a script in Python or JavaScript that calls an engine and nothing of ours.

A row goes through the engine's own functions, in the order of the chain. The candidates after one
of them (every logit that is not -inf) are compared with those that llama.cpp, or the engine's own
specification, leaves there. No script is written for a stage without a function of the engine, or
for an engine that draws with a generator of its own.
"""

import functools
from importlib import import_module
from typing import cast

import numpy as np

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.engines.engine_file import NAMESPACE, engine_file, engine_names
from sampler_parity.maintenance.repro.asked import ComparedStage, asked_of, in_lines, short
from sampler_parity.maintenance.repro.engine import EngineScript, number
from sampler_parity.reference.registry import SAMPLERS


@functools.cache
def scripted() -> dict[str, str]:
    """Return the engines that have a script, by the name that a backend gives itself."""
    return {script: name for name in engine_names() if (script := engine_file(name).script)}


def engine_of(name: str) -> EngineScript:
    """Load how a script of an engine is written. name: one of `scripted`."""
    return cast(EngineScript, import_module(f"{NAMESPACE}.{scripted()[name]}.script").SCRIPT)


def script(name: str, version: str, case: Case, compared: ComparedStage, about: str) -> str:
    """Return the source. name: one of `scripted`. Raises InputError if no script can be written,
    and Unsupported for a stage that the engine has no function for."""
    engine, parts = engine_of(name), asked_of(case, compared)
    chain = parts.prepared.chain[: compared.stage + 1]
    stages = [(key, of) for stage in chain for key, of in stage.items()]
    pairs = sorted(
        (int(token), logit)
        for token, logit in zip(parts.expected.ids, parts.expected.logits, strict=True)
        if logit != -np.inf
    )
    stage = stages[-1][0]
    fields = {
        "title": f"{case.id}: {case.description}",
        "about": about,
        "packages": engine.packages(version),
        "file": engine.file,
        "row": in_lines([number(x) for x in parts.prepared.rows[compared.step]]),
        "ids": ", ".join(str(token) for token, _ in pairs),
        "values": in_lines([number(logit) for _, logit in pairs]),
        "stage": stage,
        "whose": "in llama.cpp" if stage in SAMPLERS else "as documented",
    }
    engine_fields = engine.fields(parts, stages, [*parts.prepared.case.history, *parts.accepted])
    return short(engine.source.format(**{**fields, **engine_fields}), case.id)
