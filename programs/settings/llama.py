"""Build the chain that llama.cpp's programs make of settings.

Source: common_sampler_init, common/sampling.cpp of each release in facts.toml.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings.answer import Note, SettingsAnswer, Stage, Value
from sampler_parity.programs.settings.facts import Release, facts, release_facts
from sampler_parity.programs.settings.idle import inert_notes, with_idle
from sampler_parity.programs.settings.source import LAYERS, Source
from sampler_parity.programs.settings.values import ValueReader
from sampler_parity.reference.vocab import Vocab

CONTEXT = 4096  # tokens, where a count of -1 stands for the context: the harness's models have it


@dataclass
class Settings:
    """Values by the names of a request. sources: the layer that each came from."""

    release: Release
    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def value(self, name: str) -> Any:
        """Return the value in force: the user's or the default; of samplers their names."""
        default = self.release.parameters[name].default if name != "samplers" else None
        if name == "samplers":
            default = list(self.release.default_order)
        return self.values.get(name, default)

    def has(self, behaviour: str) -> bool:
        return behaviour in self.release.behaviours


def llama_answer(sources: Sequence[Source], release: str) -> SettingsAnswer:
    """Return the chain of llama-server. Raises InputError for a release between two that differ."""
    settings = Settings(release_facts(release))
    for source in sorted(sources, key=lambda source: LAYERS.index(source.layer)):
        _add(settings, source)
    stages = with_idle([_stage(settings, name) for name in _samplers(settings)], settings.release)
    inert = inert_notes(stages, settings.values, settings.release)
    described = [f"{source.path}: {source.title}" for source in sources]
    return SettingsAnswer(
        engine="llama-server",
        release=release,
        sources=described,
        stages=stages,
        notes=[*settings.notes, *inert],
    )


def chain_spec(answer: SettingsAnswer, vocab: Vocab) -> ChainSpec:
    """Return the chain as the reference builds it. vocab: has the tokens that ignore_eos bans."""
    return [{stage.sampler: dict(_arguments(stage, vocab))} for stage in answer.stages]


def _arguments(stage: Stage, vocab: Vocab) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a stage. A count of -1 is the context where it says so."""
    for value in stage.values:
        if value.name == "bans":
            continue
        argument = CONTEXT if value.source.endswith("the context") else value.value
        if value.name == "logit_bias" and (bans := stage.at("bans")):
            tokens = [vocab.eos] if bans == "EOS" else sorted(vocab.eog)
            argument = argument + [[token, -math.inf] for token in tokens if token >= 0]
        yield value.name, argument


def _add(settings: Settings, source: Source) -> None:
    """Lay the values of a source over those below it."""
    reader = ValueReader(settings.release, flags=source.layer in ("flag", "model"))
    for name, suggestion in source.unknown.items():
        reader.note("unknown", name, suggestion)
    for name, value in source.values.items():
        parameter = settings.release.parameters.get(name)
        if parameter is None or not (parameter.in_request or source.layer == "flag"):
            settings.notes += _about_unknown(settings.release, source, name)
        elif value is None and settings.has("null_is_refused"):
            reader.note("refused", name, "null: the server answers 400. Leave it out")
        elif value is not None and (counts := reader.read(parameter, value)) is not None:
            target = "samplers" if parameter.type == "letters" else name
            settings.values[target] = counts
            settings.sources[target] = source.layer
    settings.notes += reader.notes


def _about_unknown(release: Release, source: Source, name: str) -> Iterator[Note]:
    """Yield the note about a name that is no sampling parameter; none for one without effect."""
    table = facts()
    if name in table["llama"]["request"]["constrains"]:
        yield Note(
            kind="unread", name=name, text="it limits the tokens, and is no stage of a chain"
        )
    elif name not in table["llama"]["request"]["fields"]:
        row = table["foreign"].get(name)
        yield _foreign(name, row) if row else _unknown(release, name)


def _foreign(name: str, row: dict[str, str]) -> Note:
    fix = f"; write {row['as']}" if row["as"] else ""
    why = f": {row['why']}" if "why" in row else ""
    text = f"a name of {row['of']}, which llama-server passes over{why}{fix}"
    return Note(kind="foreign", name=name, text=text)


def _unknown(release: Release, name: str) -> Note:
    names = [row.name for row in release.parameters.values() if row.in_request]
    if name in facts()["llama"]["parameters"]:
        text = f"llama.cpp {release.name} does not read it"
    else:
        suggestion = did_you_mean(name, names)
        text = f"llama-server passes it over{suggestion and f'; {suggestion}'}"
    return Note(kind="unknown", name=name, text=text)


def _samplers(settings: Settings) -> Iterator[str]:
    """Yield the samplers of the chain in their order."""
    if (
        settings.value("logit_bias")
        or settings.value("ignore_eos")
        or settings.has("bias_stage_always")
    ):
        yield "logit_bias"
    if settings.has("penalties_first"):
        yield "penalties"
    if settings.has("greedy_at_zero") and settings.value("temperature") <= 0:
        note = Note(kind="changed", name="temperature", text="0: greedy replaces the other stages")
        settings.notes.append(note)
        yield "greedy"
    elif version := settings.value("mirostat"):
        yield from _mirostat(settings, version)
    else:
        yield from _ordered(settings)


def _mirostat(settings: Settings, version: int) -> Iterator[str]:
    if version not in (1, 2):
        text = f"{version}: the program ends; write 0, 1 or 2"
        settings.notes.append(Note(kind="refused", name="mirostat", text=text))
        return
    text = f"{version}: temperature and mirostat replace the other stages"
    settings.notes.append(Note(kind="changed", name="mirostat", text=text))
    yield from ("temp", "mirostat" if version == 1 else "mirostat_v2")


def _ordered(settings: Settings) -> Iterator[str]:
    """Yield the samplers of the order, then the one that selects."""
    order = settings.value("samplers")
    if settings.has("sigma_alone") and settings.value("top_n_sigma") >= 0:
        text = "the chain is top_k, temp and top_n_sigma alone, whatever samplers has"
        settings.notes.append(Note(kind="changed", name="top_n_sigma", text=text))
        yield from ("top_k", "temp", "top_n_sigma", "dist")
        return
    yield from (settings.release.stages[name] for name in order if name != "adaptive_p")
    if settings.has("greedy_at_zero"):
        yield "softmax"
    if "adaptive_p" in order[:-1]:
        text = "adaptive_p comes last, in place of dist, wherever samplers has it"
        settings.notes.append(Note(kind="changed", name="samplers", text=text))
    yield "adaptive_p" if "adaptive_p" in order else "dist"


def _stage(settings: Settings, sampler: str) -> Stage:
    table: dict[str, str] = facts()["stages"][sampler]
    values = [_value(settings, name, setting) for name, setting in table.items()]
    if sampler == "logit_bias" and settings.value("ignore_eos"):
        bans = "EOS" if settings.has("eos_alone") else "every token that ends a text"
        source = settings.sources["ignore_eos"]
        values.append(Value(name="bans", value=bans, setting="ignore_eos", source=source))
    return Stage(sampler=sampler, values=values)


def _value(settings: Settings, name: str, setting: str) -> Value:
    value, source = settings.value(setting), settings.sources.get(setting, "default")
    if setting == "seed":
        value %= 1 << 32
    if value == -1 and setting.endswith("last_n") and settings.has("context_is_minus_one"):
        source += ", the context"
    return Value(name=name, value=value, setting=setting, source=source)
