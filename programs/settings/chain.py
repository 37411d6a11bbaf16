"""Build the chain that an engine makes of settings.

Source of llama.cpp's: common_sampler_init, common/sampling.cpp of each release in facts.toml.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings.answer import Note, NoteKind, SettingsAnswer, Stage, Value
from sampler_parity.programs.settings.facts import LLAMA, Release, engine_facts, facts
from sampler_parity.programs.settings.idle import inert_notes, with_idle
from sampler_parity.programs.settings.source import LAYERS, Source
from sampler_parity.programs.settings.values import ValueReader
from sampler_parity.reference.vocab import Vocab

CONTEXT = 4096  # tokens, where a count of -1 stands for the context: the harness's models have it

_PENALTIES = ("repeat_penalty", "frequency_penalty", "presence_penalty")


@dataclass
class Settings:
    """Values by llama-server's names. sources: the layer that each came from."""

    release: Release
    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def value(self, name: str) -> Any:
        """Return the value in force: the user's or the default."""
        return self.values.get(name, self.release.default(name))

    def has(self, behaviour: str) -> bool:
        return behaviour in self.release.behaviours

    def note(self, kind: NoteKind, name: str, text: str) -> None:
        self.notes.append(Note(kind=kind, name=name, text=text))


def answer_of(sources: Sequence[Source], release: str) -> SettingsAnswer:
    """Return the chain of an engine. sources: of the same engine. release: of llama.cpp. Raises
    InputError for one between two that differ."""
    settings = Settings(engine_facts(sources[0].engine, release))
    for source in sorted(sources, key=lambda source: LAYERS.index(source.layer)):
        _add(settings, source)
    samplers = _fixed(settings) if settings.release.chains else _samplers(settings)
    stages = with_idle([_stage(settings, name) for name in samplers], settings.release)
    return SettingsAnswer(
        engine=settings.release.engine,
        release=settings.release.name,
        sources=[f"{source.path}: {source.title}" for source in sources],
        stages=stages,
        notes=[*settings.notes, *inert_notes(stages, settings.values, settings.release)],
    )


def chain_spec(answer: SettingsAnswer, vocab: Vocab) -> ChainSpec:
    """Return the chain as the reference builds it. vocab: has the tokens that ignore_eos bans."""
    return [{stage.sampler: dict(_arguments(stage, vocab))} for stage in answer.stages]


def _arguments(stage: Stage, vocab: Vocab) -> Iterator[tuple[str, Any]]:
    for value in stage.values:
        argument: Any = CONTEXT if value.source.endswith("the context") else value.value
        if value.name == "logit_bias" and (bans := stage.at("bans")):
            tokens = [vocab.eos] if bans == "EOS" else sorted(vocab.eog)
            argument = argument + [[token, -math.inf] for token in tokens if token >= 0]
        if value.name != "bans":
            yield value.name, argument


def _add(settings: Settings, source: Source) -> None:
    """Lay the values of a source over those below it."""
    reader = ValueReader(settings.release, flags=source.layer in ("flag", "model"))
    for name, suggestion in source.unknown.items():
        settings.note("unknown", name, suggestion)
    for name, value in source.values.items():
        parameter = settings.release.parameters.get(name)
        if parameter is None or (parameter.flag_only and source.layer != "flag"):
            settings.notes += _about_unknown(settings.release, name)
        elif value is None and settings.has("null_is_refused"):
            settings.note("refused", name, "null: the server answers 400; leave it out")
        elif value is not None and (counts := reader.read(parameter, value)) is not None:
            target = "samplers" if parameter.type == "letters" else parameter.setting or name
            settings.values[target] = counts
            settings.sources[target] = source.layer
    settings.notes += reader.notes


def _about_unknown(release: Release, name: str) -> Iterator[Note]:
    """Yield the note about a name that is no sampling parameter; none for one without effect."""
    table = facts()
    fields = (
        table["llama"]["request"] if release.engine == LLAMA else table["engines"][release.engine]
    )
    foreign = table["foreign"].get(name) if release.engine == LLAMA else None
    if name in fields.get("constrains", ()):
        yield Note(
            kind="unread", name=name, text="it limits the tokens, and is no stage of a chain"
        )
    elif foreign:
        yield Note(kind="foreign", name=name, text=_of_another_program(foreign))
    elif name not in fields["fields"]:
        yield Note(kind="unknown", name=name, text=_suggestion(release, name))


def _of_another_program(row: dict[str, str]) -> str:
    fix = f"; write {row['as']}" if row["as"] else ""
    why = f": {row['why']}" if "why" in row else ""
    return f"a name of {row['of']}, which llama-server passes over{why}{fix}"


def _suggestion(release: Release, name: str) -> str:
    names = [row.name for row in release.parameters.values() if not row.flag_only]
    if release.engine == LLAMA and name in facts()["llama"]["parameters"]:
        return f"llama.cpp {release.name} does not read it"
    suggestion = did_you_mean(name, names)
    return f"no sampling parameter of {release.engine}{suggestion and f'; {suggestion}'}"


def _fixed(settings: Settings) -> Iterator[str]:
    """Yield the samplers of an engine with fixed chains: of the first one whose condition holds."""
    for chain in settings.release.chains:
        name, values = chain.get("when", ("", [None]))
        if settings.value(name) in values:
            if name:
                text = f"{settings.value(name)}: {chain['why']}"
                settings.note("changed", name, text)
            yield from chain["stages"]
            return


def _samplers(settings: Settings) -> Iterator[str]:
    """Yield the samplers of llama.cpp's chain in their order."""
    biased = settings.value("logit_bias") or settings.value("ignore_eos")
    if biased or settings.has("bias_stage_always"):
        yield "logit_bias"
    if settings.has("penalties_first"):
        if any(name in settings.values for name in _PENALTIES) and not settings.value(
            "penalize_nl"
        ):
            settings.note(
                "unread", "penalize_nl", "false: the line feed has no penalty, here it has"
            )
        yield "penalties"
    if settings.has("greedy_at_zero") and settings.value("temperature") <= 0:
        settings.note("changed", "temperature", "0: greedy replaces the other stages")
        yield "greedy"
    elif version := settings.value("mirostat"):
        yield from _mirostat(settings, version)
    elif settings.has("sigma_alone") and settings.value("top_n_sigma") >= 0:
        text = "the chain is top_k, temp and top_n_sigma alone, whatever samplers has"
        settings.note("changed", "top_n_sigma", text)
        yield from ("top_k", "temp", "top_n_sigma", "dist")
    else:
        yield from _ordered(settings, settings.value("samplers") or ())


def _mirostat(settings: Settings, version: int) -> Iterator[str]:
    if version not in (1, 2):
        settings.note("refused", "mirostat", f"{version}: the program ends; write 0, 1 or 2")
        return
    text = f"{version}: temperature and mirostat replace the other stages"
    settings.note("changed", "mirostat", text)
    yield from ("temp", "mirostat" if version == 1 else "mirostat_v2")


def _ordered(settings: Settings, order: Sequence[str]) -> Iterator[str]:
    """Yield the samplers of the order, then the one that selects."""
    yield from (settings.release.stages[name] for name in order if name != "adaptive_p")
    if settings.has("greedy_at_zero"):
        yield "softmax"
    if "adaptive_p" in order[:-1]:
        text = "adaptive_p comes last, in place of dist, wherever samplers has it"
        settings.note("changed", "samplers", text)
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
