"""Build the chain that an engine makes of settings.

Source of llama.cpp's: common_sampler_init, common/sampling.cpp of each release in facts.toml.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.programs.settings.answer import Note, NoteKind, SettingsAnswer, Stage, Value
from sampler_parity.programs.settings.facts import LLAMA, Release, engine_facts, facts
from sampler_parity.programs.settings.files import Layer, Source, read_source
from sampler_parity.programs.settings.idle import COMPARE, inert_notes, with_idle
from sampler_parity.programs.settings.values import ValueReader
from sampler_parity.reference.vocab import Vocab

CONTEXT = 4096  # tokens, where a count of -1 stands for the context: the harness's models have it
_PENALTIES = {"repeat_penalty", "frequency_penalty", "presence_penalty"}


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
    """Return the chain of an engine. release: of llama.cpp. Raises InputError for one between two
    that differ, and for sources of several engines."""
    engines = list(dict.fromkeys(source.engine for source in sources))
    if len(engines) > 1:
        fix = "give those of one engine"
        raise InputError("settings", f"the files are of {' and '.join(engines)}", fix)
    settings = Settings(engine_facts(engines[0], release))
    layers = get_args(Layer)
    for source in sorted(sources, key=lambda source: layers.index(source.layer)):
        _add(settings, source)
    stage_of = partial(_stage, settings)
    stages = with_idle([*map(stage_of, _samplers(settings))], settings.release)
    inert = inert_notes(stages, settings.values, settings.release, stage_of)
    return SettingsAnswer(
        engine=settings.release.engine,
        release=settings.release.name,
        sources=[f"{source.path}: {source.title}" for source in sources],
        stages=stages,
        notes=[*settings.notes, *inert],
    )


def answer_of_llama(path: Path, release: str) -> SettingsAnswer:
    """Return the chain that a release of llama.cpp makes of a file. Raises InputError, also for a
    setting that the program refuses."""
    source = read_source(path, release)
    if source.engine != LLAMA:
        fix = "give a request, or a chain"
        raise InputError(path, f"{source.title} are none of llama.cpp", fix)
    answer = answer_of([source], release)
    for note in answer.notes:
        if note.kind == "refused":
            fix = f"llama.cpp {release} has no answer"
            raise InputError(path, f"{note.name}: {note.text}", fix)
    return answer


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
    reader = ValueReader(settings.release, source.layer in ("flag", "model"), settings.notes)
    for name, suggestion in source.unknown.items():
        settings.note("unknown", name, suggestion)
    for name, value in source.values.items():
        parameter = settings.release.parameters.get(name)
        only_a_flag = name == "top_n_sigma" and settings.has("sigma_alone")
        if parameter is None or ((parameter.fixed or only_a_flag) and source.layer != "flag"):
            settings.notes += _about_unknown(settings.release, name)
        elif value is None and settings.has("null_is_refused"):
            settings.note("refused", name, "null: the server answers 400; leave it out")
        elif value is not None and (counts := reader.read(parameter, value)) is not None:
            settings.values[parameter.setting or name] = counts
            settings.sources[parameter.setting or name] = source.layer


def _about_unknown(release: Release, name: str) -> Iterator[Note]:
    """Yield the note about a name that is no sampling parameter; none for one without effect."""
    table = facts()
    row = table["of_other_programs"].get(name) if release.engine == LLAMA else None
    constrains = table["engines"].get(release.engine, {}).get("constrains", [])
    if name in [*table["llama"]["request"]["constrains"], *constrains]:
        text = "it limits the tokens, and is no stage of a chain"
        yield Note(kind="unread", name=name, text=text)
    elif row:
        fix = row["as"] and f"write {row['as']}"
        text = f"a name of {row['of']}, which llama-server passes over"
        text = "; ".join(filter(None, (text, row.get("why"), fix)))
        yield Note(kind="unknown", name=name, text=text)
    elif release.engine == LLAMA and name in table["llama"]["parameters"]:
        yield Note(kind="unknown", name=name, text=f"llama.cpp {release.name} does not read it")
    elif name not in release.fields:
        names = [row.name for row in release.parameters.values() if not row.fixed]
        parts = f"no sampling parameter of {release.engine}", did_you_mean(name, names)
        yield Note(kind="unknown", name=name, text="; ".join(filter(None, parts)))


def _samplers(settings: Settings) -> Iterator[str]:
    """Yield the samplers of the chain: of the first one of the engine whose condition holds."""
    biased = settings.value("logit_bias") or settings.value("ignore_eos")
    if settings.has("bias_stage_always") or biased:
        yield "logit_bias"
    if settings.has("penalties_first"):
        if settings.values.keys() & _PENALTIES and not settings.value("penalize_nl"):
            settings.note("unread", "penalize_nl", "false: a line feed has no penalty, here it has")
        yield "penalties"
    for chain in settings.release.chains:
        name, sign, bound = chain.get("when", ("", "==", None))
        if COMPARE[sign](value := settings.value(name), bound):
            if name:
                text = f"{value}: {chain['why']}"
                settings.note(chain.get("kind", "changed"), settings.release.own_name(name), text)
            for sampler in chain["stages"]:
                yield from _ordered(settings) if sampler == "ORDER" else [sampler]
            return


def _ordered(settings: Settings) -> Iterator[str]:
    """Yield the samplers of the order; of llama.cpp's then the one that selects."""
    if settings.release.order:
        keys = [*settings.value("order")]
        if settings.value("temperature_last") and "temperature" in keys:
            keys = [*(key for key in keys if key != "temperature"), "temperature"]
        yield from (s for key in keys for s in settings.release.order[str(key)])
        return
    order = settings.value("samplers")
    yield from (settings.release.stages[name] for name in order if name != "adaptive_p")
    if settings.has("greedy_at_zero"):
        yield "softmax"
    if "adaptive_p" in order[:-1]:
        text = "adaptive_p comes last, in place of dist, wherever samplers has it"
        settings.note("changed", "samplers", text)
    yield "adaptive_p" if "adaptive_p" in order else "dist"


def _stage(settings: Settings, sampler: str) -> Stage:
    """Return a stage with the values of the parameters that the engine has."""
    values = []
    for name, setting in facts()["stages"][sampler].items():
        value, source = settings.value(setting), settings.sources.get(setting, "default")
        if value == -1 and setting.endswith("last_n") and settings.has("context_is_minus_one"):
            source += ", the context"
        if value is not None:
            value = value % (1 << 32) if setting == "seed" else value
            values.append(Value(name=name, value=value, setting=setting, source=source))
    if sampler == "logit_bias" and settings.value("ignore_eos"):
        bans = "EOS" if settings.has("eos_alone") else "every token that ends a text"
        source = settings.sources["ignore_eos"]
        values.append(Value(name="bans", value=bans, setting="ignore_eos", source=source))
    return Stage(sampler=sampler, values=values)
