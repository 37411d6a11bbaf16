"""Find the stages that do nothing, and the settings that have no effect in a chain."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sampler_parity.programs.settings.answer import Note, Stage, shown_value
from sampler_parity.programs.settings.facts import Release, facts

COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_SELECTS = {"ignore_eos", "penalize_nl", "order", "do_sample", "temperature_last"}  # of no stage
StageOf = Callable[[str], Stage]


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
        conditions = [row for row in group if stage.at(row[0]) is not None]
        values = {name: stage.at(name) for name, _, _ in conditions}
        if values and all(COMPARE[sign](values[name], bound) for name, sign, bound in conditions):
            return ", ".join(f"{name} is {value}" for name, value in values.items())
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
    stages: Sequence[Stage], values: Mapping[str, Any], release: Release, stage_of: StageOf
) -> Iterator[Note]:
    """Yield a note for each setting of the user without effect; none for a value that would have
    none in any chain. stage_of: makes a stage of the user's values."""
    for name, value in values.items():
        users = [stage for stage in stages if any(v.setting == name for v in stage.values)]
        chosen = any(_holds(chain, name, value) for chain in release.chains)
        if name in _SELECTS or chosen or value == release.default(name):
            continue
        unused = partial(_unused, name, stages, release, stage_of)
        if reason := _used(name, users, stages) if users else unused():
            text = f"{shown_value(name, value)} has no effect: {reason}"
            yield Note(kind="inert", name=release.own_name(name), text=text)


def _holds(chain: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a setting selects a chain by its value."""
    setting, sign, bound = chain.get("when", ("", "==", None))
    return setting == name and bool(COMPARE[sign](value, bound))


def _used(name: str, users: Sequence[Stage], stages: Sequence[Stage]) -> str:
    """Return why the stages with a setting do not use it; "" if one does, or by its own value."""
    if all(stage.idle for stage in users):
        idle = users[0]
        return "" if _causes(name, idle) else f"{idle.sampler} does nothing, {idle.idle}"
    if name != "seed" or any(stage.sampler == "xtc" and not stage.idle for stage in stages):
        return ""
    return next((single for stage in stages if not stage.idle and (single := _single(stage))), "")


def _unused(name: str, stages: Sequence[Stage], release: Release, stage_of: StageOf) -> str:
    """Return that no stage reads the setting; "" if it would be neutral there."""
    samplers = {stage.sampler for stage in stages}
    if name == "samplers":
        return "mirostat is set" if samplers & {"mirostat", "mirostat_v2"} else ""
    usable = {*release.stages.values()}
    usable |= {sampler for chain in release.chains for sampler in chain["stages"]}
    usable |= {sampler for group in release.order.values() for sampler in group}
    table = facts()["stages"]
    readers = [
        sampler for sampler in table if sampler in usable and name in table[sampler].values()
    ]
    if not readers:
        return f"no stage of {release.engine} reads it"
    stage = stage_of(readers[0])
    idle = stage.model_copy(update={"idle": _neutral(stage, release)})
    return "" if _causes(name, idle) else f"the chain has no {readers[0]}"


def _causes(name: str, stage: Stage) -> bool:
    """Return whether the value of a setting keeps the stage from doing anything."""
    return any(v.setting == name and f"{v.name} is " in stage.idle for v in stage.values)
