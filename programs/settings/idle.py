"""Find the stages that do nothing, and the settings that have no effect in a chain."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sampler_parity.programs.settings.answer import Note, Stage, Value, shown_value
from sampler_parity.programs.settings.facts import Release, facts

_COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_SELECTS = {"mirostat", "ignore_eos", "penalize_nl"}  # they choose a chain, or are in no stage


def with_idle(stages: Sequence[Stage], release: Release) -> list[Stage]:
    """Return the stages, with the reason at each that does nothing."""
    marked: list[Stage] = []
    single = ""
    for stage in stages:
        filters = stage.sampler in facts()["neutral"] and stage.sampler != "logit_bias"
        idle = single if single and filters else _neutral(stage, release)
        marked.append(stage.model_copy(update={"idle": idle}))
        single = single or _single(stage)
    return marked


def _neutral(stage: Stage, release: Release) -> str:
    """Return the values that make a stage do nothing; "" if they do not."""
    alone = stage.sampler == "top_n_sigma" and "sigma_alone" in release.behaviours
    groups = [] if alone or stage.at("bans") else facts()["neutral"].get(stage.sampler, [])
    for group in groups:
        if all(_COMPARE[sign](stage.at(name), bound) for name, sign, bound in group):
            return ", ".join(f"{name} is {stage.at(name)}" for name, _, _ in group)
    return ""


def _single(stage: Stage) -> str:
    """Return why at most one candidate is left after a stage; "" if more may be."""
    if stage.sampler == "top_k" and stage.at("k") == 1:
        return "top_k 1 leaves one candidate"
    masks = stage.sampler in ("temp", "temp_ext") and stage.at("temp") <= 0
    if masks and (stage.at("delta") or 0) <= 0:
        return f"temperature {stage.at('temp'):g} leaves one candidate"
    return ""


def inert_notes(
    stages: Sequence[Stage], values: Mapping[str, Any], release: Release
) -> Iterator[Note]:
    """Yield a note for each setting of the user without effect; none for a value that would have
    none in any chain."""
    for name, value in values.items():
        if value == release.default(name) or name in _SELECTS:
            continue
        if reason := _why_inert(name, stages, values, release):
            text = f"{shown_value(name, value)} has no effect: {reason}"
            yield Note(kind="inert", name=name, text=text)


def _why_inert(
    name: str, stages: Sequence[Stage], values: Mapping[str, Any], release: Release
) -> str:
    """Return why a setting has no effect; "" if it has one, or is neutral by its value."""
    if name == "samplers":
        return "mirostat is set" if values.get("mirostat") else ""
    if name == "temperature" and any(stage.sampler == "greedy" for stage in stages):
        return ""
    users = [stage for stage in stages if any(v.setting == name for v in stage.values)]
    if not users:
        return _unused(name, values, release)
    if all(stage.idle for stage in users):
        idle = users[0]
        return "" if _causes(name, idle) else f"{idle.sampler} does nothing, {idle.idle}"
    return _of_seed(stages) if name == "seed" else ""


def _unused(name: str, values: Mapping[str, Any], release: Release) -> str:
    """Return that no stage reads the setting; "" if it would be neutral there."""
    used = {*release.stages.values(), "mirostat", "mirostat_v2"}
    used |= {sampler for chain in release.chains for sampler in chain["stages"]}
    table = facts()["stages"]
    readers = [sampler for sampler in table if sampler in used and name in table[sampler].values()]
    if not readers:
        return f"no stage of {release.engine} reads it"
    return (
        "" if _is_neutral(name, readers[0], values, release) else f"the chain has no {readers[0]}"
    )


def _is_neutral(name: str, sampler: str, values: Mapping[str, Any], release: Release) -> bool:
    """Return whether a stage with the user's values would do nothing because of this one."""
    rows = {
        key: (s, values.get(s, release.default(s))) for key, s in facts()["stages"][sampler].items()
    }
    parameters = [
        Value(name=key, value=value, setting=setting, source="")
        for key, (setting, value) in rows.items()
    ]
    stage = Stage(sampler=sampler, values=parameters)
    return _causes(name, stage.model_copy(update={"idle": _neutral(stage, release)}))


def _causes(name: str, stage: Stage) -> bool:
    """Return whether the value of a setting keeps the stage from doing anything."""
    return any(v.setting == name and f"{v.name} is " in stage.idle for v in stage.values)


def _of_seed(stages: Sequence[Stage]) -> str:
    """Return why no stage draws among several candidates; "" if one does."""
    drawing = [stage for stage in stages if stage.sampler == "xtc" and not stage.idle]
    reasons = [single for stage in stages if not stage.idle and (single := _single(stage))]
    return reasons[0] if reasons and not drawing else ""
