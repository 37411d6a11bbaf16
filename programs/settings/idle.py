"""Find the stages that do nothing, and the settings that have no effect in a chain."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sampler_parity.programs.settings.answer import Note, Stage, Value
from sampler_parity.programs.settings.facts import Release, facts
from sampler_parity.programs.settings.values import seed_text

_COMPARE = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_SELECT = {"greedy", "dist", "adaptive_p", "mirostat", "mirostat_v2"}
_NEEDS_OTHERS = {  # with one candidate left they change nothing
    "penalties", "dry", "top_n_sigma", "top_k", "tail_free", "typical_p", "top_p", "min_p", "xtc",
    "temp", "temp_ext", "softmax",
}  # fmt: skip


def with_idle(stages: Sequence[Stage], release: Release) -> list[Stage]:
    """Return the stages, with the reason at each that does nothing."""
    marked: list[Stage] = []
    single = ""
    for stage in stages:
        reason = _neutral(stage, release)
        if single and stage.sampler in _NEEDS_OTHERS:
            reason = single
        marked.append(stage.model_copy(update={"idle": reason}))
        single = single or _single(stage)
    return marked


def _neutral(stage: Stage, release: Release) -> str:
    """Return the values that make a stage do nothing; "" if they do not."""
    if stage.sampler == "top_n_sigma" and "sigma_alone" in release.behaviours:
        return ""
    if stage.at("bans"):
        return ""
    for group in facts()["neutral"].get(stage.sampler, ()):
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
    """Yield a note for each setting of the user without effect. One is not noted whose value would
    have none in any chain."""
    for name in values:
        if name == "samplers":
            yield from _replaced_order(stages, values)
            continue
        users = [stage for stage in stages if any(v.setting == name for v in stage.values)]
        if reason := _why_inert(name, users, stages, values, release):
            text = f"{_text(name, values[name])} has no effect: {reason}"
            yield Note(kind="inert", name=name, text=text)


def _why_inert(
    name: str,
    users: Sequence[Stage],
    stages: Sequence[Stage],
    values: Mapping[str, Any],
    release: Release,
) -> str:
    """Return why a setting has no effect; "" if it has one, or is neutral by its value."""
    parameter = release.parameters[name]
    if values[name] == parameter.default or name in ("mirostat", "ignore_eos"):
        return ""
    if name == "min_keep" and any(not stage.idle for stage in users):
        return ""
    if name == "temperature" and any(stage.sampler == "greedy" for stage in stages):
        return ""
    if not users:
        return _missing(name, values, release)
    if all(stage.idle for stage in users):
        idle = users[0]
        return "" if _is_cause(name, idle) else f"{idle.sampler} does nothing, {idle.idle}"
    return _of_seed(stages) if name == "seed" else ""


def _missing(name: str, values: Mapping[str, Any], release: Release) -> str:
    """Return that no stage reads the setting; "" if it would be neutral there."""
    stages = facts()["stages"]
    available = {*release.stages.values(), "mirostat", "mirostat_v2"}
    readers = [
        sampler for sampler in stages if sampler in available and name in stages[sampler].values()
    ]
    if not readers or _alone_neutral(name, readers[0], values, release):
        return ""
    return f"the chain has no {' or '.join(readers)}"


def _alone_neutral(name: str, sampler: str, values: Mapping[str, Any], release: Release) -> bool:
    """Return whether a stage with the user's values does nothing because of this one."""
    rows = facts()["stages"][sampler].items()
    stage = Stage(
        sampler=sampler,
        values=[
            Value(
                name=key,
                value=values.get(setting, release.parameters[setting].default),
                setting=setting,
                source="",
            )
            for key, setting in rows
            if setting in release.parameters
        ],
    )
    idle = _neutral(stage, release)
    return bool(idle) and _is_cause(name, stage.model_copy(update={"idle": idle}))


def _is_cause(name: str, stage: Stage) -> bool:
    """Return whether the value of a setting keeps the stage from doing anything."""
    causes = {v.setting for v in stage.values if f"{v.name} is " in stage.idle}
    return name in causes


def _of_seed(stages: Sequence[Stage]) -> str:
    draws = [stage for stage in stages if any(v.setting == "seed" for v in stage.values)]
    drawing = [stage for stage in draws if not stage.idle]
    before = [single for stage in stages if (single := _single(stage)) and not stage.idle]
    only_selects = all(stage.sampler in _SELECT for stage in drawing)
    return f"{before[0]}" if before and only_selects else ""


def _replaced_order(stages: Sequence[Stage], values: Mapping[str, Any]) -> Iterator[Note]:
    if values.get("mirostat"):
        yield Note(kind="inert", name="samplers", text="the order has no effect: mirostat is set")


def _text(name: str, value: Any) -> str:
    return seed_text(value) if name == "seed" else str(value)
