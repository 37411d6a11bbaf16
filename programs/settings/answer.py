"""The answer about settings: a chain by stages, and notes about the rest; as lines and data."""

from collections.abc import Iterable, Iterator
from json import dumps
from typing import Any, Literal, get_args

from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.harness.strict import Strict, StrictFigures
from sampler_parity.reference.random import DEFAULT_SEED

NoteKind = Literal["refused", "unknown", "lost", "inert", "changed", "unread"]
_LONGEST = 160  # characters of a value or name


class Note(Strict):
    """A setting that is not simply a value of a stage.

    refused: the engine does not take the request. unknown: no name of the engine. inert: without
    effect in this chain. changed: the engine uses another value or order. unread: not
    shown here. lost: not as in the engine that the settings are for."""

    kind: NoteKind
    name: str
    text: str


class Value(StrictFigures):
    """A parameter of a stage. setting: llama-server's name for it. source: request, flag, model,
    server or default."""

    name: str
    value: Any
    setting: str
    source: str


class Stage(Strict):
    """A sampler of the chain. idle: why it does nothing; empty if it does something."""

    sampler: str
    values: list[Value]
    idle: str = ""

    def at(self, name: str) -> Any:
        """Return the value of a parameter; None if the stage has none of this name."""
        return next((value.value for value in self.values if value.name == name), None)


class SettingsAnswer(Strict):
    """The chain that an engine builds from settings. sources: the files, and what each holds.
    request: the settings of another engine that are nearest, if one was asked for."""

    schema_version: Literal[1] = 1
    engine: str
    release: str
    sources: list[str]
    stages: list[Stage]
    notes: list[Note]
    request: dict[str, Any] | None = None


def lines(answer: SettingsAnswer) -> Iterator[str]:
    """Yield the answer for a person."""
    begun = f"chain    {answer.engine} {answer.release}, {len(answer.stages)} stages"
    yield f"{begun}: {', '.join(answer.sources)}"
    for number, stage in enumerate(answer.stages, start=1):
        pairs = [(value, shown_value(value.setting, value.value)) for value in stage.values]
        values = ", ".join(f"{value.name} {text} ({value.source})" for value, text in pairs)
        idle = f"; does nothing: {stage.idle}" if stage.idle else ""
        yield f"{number:<8} {stage.sampler:<11} {values}{idle}".rstrip()
    yield from note_lines(answer.notes)
    if answer.request is not None:
        yield f"request  {one_line(dumps(answer.request), 4000)}"


def note_lines(notes: Iterable[Note]) -> Iterator[str]:
    """Yield a line for each note, refused settings first."""
    order = get_args(NoteKind)
    for note in sorted(notes, key=lambda note: order.index(note.kind)):
        yield f"{note.kind:<8} {one_line(note.name, _LONGEST)}: {one_line(note.text, 400)}"


def shown_value(setting: str, value: Any) -> str:
    """Return a value as text; llama.cpp draws a seed that is none."""
    random = setting == "seed" and value == DEFAULT_SEED
    return "random" if random else one_line(str(value), _LONGEST)
