"""Carry settings over to another engine: the nearest chain there, and what differs."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings.answer import Note, SettingsAnswer, Stage, shown_value
from sampler_parity.programs.settings.chain import answer_of
from sampler_parity.programs.settings.facts import LLAMA, Release, engine_facts, facts
from sampler_parity.programs.settings.files import Source
from sampler_parity.programs.settings.idle import COMPARE
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.reference.random import DEFAULT_SEED

_LASTS = ("adaptive_p", "dist", "greedy")  # they select, wherever an order has them


def carried(answer: SettingsAnswer, name: str) -> SettingsAnswer:
    """Return the nearest chain of an engine, with the request for it and what differs. name:
    vllm, llama-server@b4753, or a release of llama.cpp. Raises InputError."""
    engine = engine_of(name)
    request = dict(_request(answer, engine))
    title = f"nearest to {answer.engine} {answer.release}"
    source = Source(Path(), title, "request", request, engine.engine)
    there = answer_of([source], engine.name if engine.engine == LLAMA else NEWEST)
    kinds = ("refused", "unknown", "unread")
    notes = [note for note in answer.notes if note.kind in kinds]
    notes += [*there.notes, *_lost(_acting(answer), _acting(there), engine)]
    sources = [*answer.sources, title]
    return there.model_copy(update={"notes": notes, "request": request, "sources": sources})


def engine_of(name: str) -> Release:
    """Return the facts of an engine by its name. Raises InputError."""
    engine, _, release = name.partition("@")
    names = [LLAMA, "llama.cpp", *facts()["engines"]]
    if engine in names[:2]:
        return engine_facts(LLAMA, release or NEWEST)
    if engine in names and not release:
        return engine_facts(engine)
    if engine[:1] in "bv" and engine[1:2].isdigit():
        return engine_facts(LLAMA, engine)
    fix = did_you_mean(name, names) or f"there are: {', '.join(names)}"
    raise InputError(f"--to {name}", "no such engine", fix)


def _request(answer: SettingsAnswer, engine: Release) -> Iterator[tuple[str, Any]]:
    """Yield the settings of an engine that come nearest, where they are not its defaults."""
    stages = _acting(answer)
    values = _values(stages) | _switches(stages, engine)
    fixed = "mirostat" in values or "penalties_first" in engine.behaviours
    if fixed or not engine.stages:  # an order has what it lists alone
        values = _neutral_values({*map(_family, stages)}, engine) | values
    for name, parameter in engine.parameters.items():
        value = values.get(parameter.setting or name)
        settable = not parameter.fixed and not parameter.derived
        if value is not None and settable and value != parameter.default:
            yield name, int(value) if parameter.type == "integer" else value


def _acting(answer: SettingsAnswer) -> list[Stage]:
    """Return the stages that do something; of a greedy choice those that can move it."""
    stages = [stage for stage in answer.stages if not stage.idle and stage.sampler != "softmax"]
    cold = any(_family(stage) == "temp" and stage.at("temp") <= 0 for stage in stages)
    if not cold and all(stage.sampler != "greedy" for stage in stages):
        return stages
    table = facts()["carry"]["after_greedy"]
    moving = [stage for stage in stages if _family(stage) in table and stage.sampler != "greedy"]
    return [*moving, Stage(sampler="greedy", values=[])]


def _family(stage: Stage) -> str:
    """Return the sampler that does the same in llama.cpp; adaptive_p without a target draws."""
    draws = stage.sampler == "adaptive_p" and stage.at("target") < 0
    return "dist" if draws else _alike(stage.sampler)


def _alike(sampler: str) -> str:
    return str(facts()["carry"]["alike"].get(sampler, sampler))


def _values(stages: Sequence[Stage]) -> dict[str, Any]:
    """Return the values of stages by llama-server's names."""
    values = {value.setting: value.value for stage in stages for value in stage.values}
    if values.get("seed") == DEFAULT_SEED:
        del values["seed"]
    return values | ({"ignore_eos": True} if "ignore_eos" in values else {})


def _neutral_values(families: set[str], engine: Release) -> dict[str, Any]:
    """Return values for the stages of an engine that must do nothing; as few as possible."""
    table, matters = facts()["stages"], facts()["carry"]["after_greedy"]
    neutral: dict[str, Any] = {}
    for sampler, groups in facts()["neutral"].items():
        family = _alike(sampler)
        if family in families or ("greedy" in families and family not in matters):
            continue
        choices: list[dict[str, Any]] = []
        for group in groups:
            rows = [(table[sampler][name], sign, bound) for name, sign, bound in group]
            usable = [row for row in rows if engine.own_name(row[0])]
            changes = [row for row in usable if not COMPARE[row[1]](engine.default(row[0]), row[2])]
            if len(usable) == len(rows) or (usable and group is groups[-1]):
                choices.append({name: bound for name, _, bound in changes})
        neutral |= sorted(choices, key=len)[0] if choices else {}
    return neutral


def _switches(stages: Sequence[Stage], engine: Release) -> dict[str, Any]:
    """Return the settings that select a chain, and the order of one."""
    samplers = [_family(stage) for stage in stages]
    greedy = samplers[-1:] == ["greedy"]
    switches: dict[str, Any] = {"do_sample": not greedy}
    if greedy and not engine.own_name("do_sample"):
        switches["temperature"] = 0
    if mirostat := [name for name in samplers if name.startswith("mirostat")]:
        return switches | {"mirostat": 2 if mirostat == ["mirostat_v2"] else 1}
    if engine.order:
        at = {name: place for place, name in enumerate(samplers)}
        firsts = {
            key: min(at.get(_alike(s), len(at)) for s in engine.order[str(key)] or [""])
            for key in engine.default("order")
        }
        return switches | {"order": sorted(firsts, key=lambda key: firsts[key])}
    names = {_alike(sampler): name for name, sampler in engine.stages.items()}
    order = [names[sampler] for sampler in samplers if sampler in names]
    return switches | {"samplers": [*order, "temperature"] if greedy else order}


def _lost(before: list[Stage], after: list[Stage], engine: Release) -> Iterator[Note]:
    """Yield a note for each stage, value and order that is not carried over."""
    here, there = ({_family(stage): stage for stage in stages} for stages in (before, after))
    for name in [name for name in here if name not in there]:
        set_values = [v for v in here[name].values if v.source != "default"]
        values = ", ".join(f"{v.setting} {shown_value(v.setting, v.value)}" for v in set_values)
        text = f"{engine.engine} has no such stage here"
        yield _note(name, f"{text}; it was {values}" if values else text)
    for name in [name for name in there if name not in {*here, "dist"}]:
        yield _note(name, f"{engine.engine} applies it, the settings did not")
    for name in [name for name in here if name in there]:
        yield from _values_lost(here[name], there[name], engine)
    order, other = (
        [n for n in x if n in y and n not in _LASTS] for x, y in ((here, there), (there, here))
    )
    if order != other:
        yield _note("order", f"{', '.join(order)} becomes {', '.join(other)}")


def _values_lost(before: Stage, after: Stage, engine: Release) -> Iterator[Note]:
    here, there = ({v.setting: v.value for v in stage.values} for stage in (before, after))
    for name in {**here, **there}:
        old, new = (_effective(name, values) for values in (here, there))
        if old == new or (None not in (old, new) and _close(old, new)):
            continue
        text = f"{shown_value(name, old)} becomes {shown_value(name, new)}"
        if name not in there:
            text = f"{shown_value(name, old)}: {engine.engine} has no such setting"
        elif name not in here:
            text = f"{engine.engine} has {shown_value(name, new)}, the settings had none"
        yield _note(name, text)


def _effective(name: str, values: dict[str, Any]) -> Any:
    value = values.get(name, facts()["carry"]["absent"].get(name))
    return max(value, 1) if name == "min_keep" else value


def _close(old: Any, new: Any) -> bool:
    numbers = isinstance(old, int | float) and isinstance(new, int | float)
    return numbers and math.isclose(old, new, rel_tol=1e-6)


def _note(name: str, text: str) -> Note:
    return Note(kind="lost", name=name, text=text)
