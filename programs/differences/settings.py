"""Settings that differ: the parameters of samplers, and facts of the programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sampler_parity.programs.differences.moment import SEEDS, Key, Moment, today
from sampler_parity.programs.recording.info import info_of
from sampler_parity.programs.recording.reader import Process
from sampler_parity.programs.recording.target import library_of
from sampler_parity.reference.random import DEFAULT_SEED


@dataclass(frozen=True)
class Setting:
    """A parameter of a stage, or the stage (""), in both recordings; None: it is not there."""

    key: Key
    parameter: str
    a: Any
    b: Any

    def __str__(self) -> str:
        if None in (self.a, self.b) and not self.parameter:
            return f"only {'B' if self.a is None else 'A'} applies {self.key[0]}"
        name = ".".join(part for part in (self.key[0], self.parameter) if part)
        a, b = (f"{x:.6g}" if isinstance(x, float) else x for x in (self.a, self.b))
        return f"{name} is {a} in A and {b} in B"


def settings_of(a: Moment, b: Moment) -> Iterator[Setting]:
    """Yield the stages and parameters that differ, in the order of the chains."""
    for key in {**a.stages, **b.stages}:
        if key in a.stages and key in b.stages:
            in_a, in_b = _arguments(a, key), _arguments(b, key)
            for name in (name for name in {**in_a, **in_b} if in_a.get(name) != in_b.get(name)):
                yield Setting(key, name, in_a.get(name), in_b.get(name))
        else:
            yield Setting(key, "", *("applied" if key in m.stages else None for m in (a, b)))
    orders = [[key for key in x.stages if key in y.stages] for x, y in ((a, b), (b, a))]
    for key in [key for key, key_of_b in zip(*orders, strict=True) if key != key_of_b][:1]:
        yield Setting(key, "", *(f"stage {[*m.stages].index(key) + 1}" for m in (a, b)))


def _arguments(moment: Moment, key: Key) -> dict[str, Any]:
    """Return the parameters of a stage, with the seed that it draws with."""
    stage, parameters = moment.stages[key], moment.parameters(key)
    for name, seed in stage.recorded.arguments.items():
        if name in SEEDS:
            rng = getattr(today(stage.earlier), "rng", None)
            drawn = f"{getattr(rng, 'seed_cur', seed)} (drawn by libllama)"
            parameters[name] = drawn if seed == DEFAULT_SEED else seed
    return parameters


def facts_of(a: Moment, b: Moment) -> Iterator[str]:
    """Yield what else the programs differ in."""
    of_a, of_b = (_facts(moment.token.replayed.process) for moment in (a, b))
    for label in {**of_a, **of_b}:
        if of_a.get(label) != of_b.get(label):
            yield f"{label} is {of_a.get(label, '-')} in A and {of_b.get(label, '-')} in B"


def _facts(process: Process) -> dict[str, str]:
    library, info = library_of(process), info_of(process.folder)
    facts: dict[str, str] = {}
    for model in process.models:
        facts |= {"model": model.path, "vocabulary": f"{model.n_vocab:,} tokens, {model.digest}"}
    if library is not None:
        facts |= {"libllama": library.version or f"b{library.build}", "library": library.path}
        facts["features"] = library.system
    if info is not None:
        facts["machine"] = f"{info.machine.cpu}, {info.machine.system}"
        facts |= {f"word {n} of the command": word for n, word in enumerate(info.command, 1)}
    return facts
