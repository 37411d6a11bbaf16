"""Read the dialects of servers: paths and parameters, as documented (dialects.toml)."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Text = Literal["llama-server", "openai", "ollama"]  # what an answer looks like
WORD = "{word}"  # in a value: a word of the greedy text
TOKEN = 300  # a token of every vocabulary
EOS = "{eos}"  # in a value: the id of the token that ends a text
ITS_OWN = "its default"
SEVERAL = "two answers"
MOST = 4  # choices that a check asks for
_CONSTRAINTS = ("forces", "shape", "stops", "seed")  # effects
UNKNOWN = "no_such_parameter_of_any_server"


@dataclass(frozen=True)
class ServerParameter:
    """Describe a parameter by the effect that it must have (effects.py), and the values that show
    it. default: as documented; None: none is. beyond: a value that the documentation does not
    allow, bound: the nearest that it does. also: further fields that it needs. alone: its neutral
    value would take the effect of others, too. ladder: further values, each with another text than
    the one before. same: pairs of values with one meaning. pair: two elements of a list whose order
    counts, with the fields that let both act. exact: values that the engine's oracle.py compares
    with the reference. span: the least and the largest of those that it makes. documented: whether
    the dialect has it. invalid: "refused", if the server documents that for `beyond`, or for
    `wrong` without one. prompt: of a penalty, whether tokens of the prompt are documented to count.
    origin: what set the default (defaults.py)."""

    name: str
    effect: str
    neutral: Any = None
    effective: Any = None
    default: Any = None
    beyond: Any = None
    bound: Any = None
    wrong: Any = "a word"
    also: dict[str, Any] = field(default_factory=dict)
    alone: bool = False
    ladder: list[Any] = field(default_factory=list)
    same: list[list[Any]] = field(default_factory=list)
    pair: dict[str, Any] = field(default_factory=dict)
    exact: list[Any] = field(default_factory=list)
    span: list[float] = field(default_factory=list)
    documented: bool = True
    invalid: str = ""
    prompt: str = ""
    origin: str = ITS_OWN

    @property
    def constrains(self) -> bool:
        """Return whether clients rely on its effect: without it, the parameter must be refused."""
        constraint = self.effect in _CONSTRAINTS or self.name == "ignore_eos"
        return self.documented and constraint

    def at(self, value: Any) -> dict[str, Any]:
        """Return the fields of a request with this value; None: the parameter is not sent."""
        return {self.name: value, **self.also}


@dataclass(frozen=True)
class Dialect:
    """Describe a dialect. path: of a completion. length: the name of that parameter. hot: a
    temperature at which texts differ. always: fields of each request. group: the field that
    parameters stand in. probabilities: what asks for those of the five most likely tokens. drawn:
    what asks for the ids of those drawn, where they are not always named. several: what asks for
    two completions. aliases: by name of a field its other names. endless: parameters that each keep
    a text to a form without an end. together: values that the engine's oracle.py sets at once.
    temperature_first: filters see its result. chat: the prompt is the message of a user, which a
    template of the server's puts into a text. random: requests without a seed differ. family: the
    program that it is of. stated: defaults that all neutral requests state. slots: choices that a
    request may ask for. unavailable: by what is not offered, why."""

    name: str
    path: str
    text: Text
    length: str
    parameters: tuple[ServerParameter, ...]
    hot: float = 2.0
    always: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    probabilities: dict[str, Any] = field(default_factory=dict)
    drawn: dict[str, Any] = field(default_factory=dict)
    several: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    endless: dict[str, Any] = field(default_factory=dict)
    together: dict[str, Any] = field(default_factory=dict)
    temperature_first: bool = False
    chat: bool = False
    random: bool = False
    family: str = ""
    stated: dict[str, Any] = field(default_factory=dict)
    slots: int = MOST
    unavailable: dict[str, str] = field(default_factory=dict)

    @property
    def neutral(self) -> dict[str, Any]:
        """Return all documented parameters at values without effect."""
        rows = (row for row in self.parameters if row.documented and not row.alone)
        return self.stated | {row.name: row.neutral for row in rows if row.neutral is not None}


def _read() -> dict[str, Dialect]:
    text = Path(__file__).with_name("dialects.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    dialects = {}
    for name, table in tables.items():
        rows = tables[table.pop("parameters_of", name)]["parameters"]
        changed = table.pop("changed", {})
        rows = {row: rows.get(row, {}) | changed.get(row, {}) for row in {**rows, **changed}}
        parameters = tuple(ServerParameter(row, **values) for row, values in rows.items())
        dialects[name] = Dialect(name, **{**table, "parameters": parameters})
    return dialects


DIALECTS: dict[str, Dialect] = _read()
