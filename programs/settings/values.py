"""Read the values of settings as llama.cpp's programs do: types, bounds, names of samplers."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sampler_parity.harness.sanitize.near import meant
from sampler_parity.programs.settings.answer import Note, NoteKind
from sampler_parity.programs.settings.facts import Parameter, Release, facts

_INT32 = 1 << 31


class _WrongTypeError(Exception):
    """The value has another type than the parameter."""


class ValueReader:
    """Reads the values of one source. notes: about the values read until now.

    flags: the values are those of start flags or of a model, which no server bounds."""

    def __init__(self, release: Release, flags: bool = False) -> None:
        self.release = release
        self.flags = flags
        self.notes: list[Note] = []

    def read(self, parameter: Parameter, value: Any) -> Any:
        """Return the value that counts; None if the parameter keeps its default."""
        try:
            typed = getattr(self, f"_{parameter.type}")(parameter, value)
        except _WrongTypeError:
            return self._wrong_type(parameter, value)
        if typed is None or parameter.type not in ("number", "integer"):
            return typed
        return self._bounded(parameter, typed)

    def note(self, kind: NoteKind, name: str, text: str) -> None:
        self.notes.append(Note(kind=kind, name=name, text=text))

    def _has(self, behaviour: str) -> bool:
        return behaviour in self.release.behaviours

    def _wrong_type(self, parameter: Parameter, value: Any) -> None:
        written, fix = _type_of(value), f"write {facts()['types'][parameter.type]}"
        if self._has("strict_types") or self.flags or parameter.type == "texts":
            answers = "does not start" if self.flags else "answers 400"
            self.note("refused", parameter.name, f"{written}: the server {answers}; {fix}")
            return
        text = f"{written}: the server uses its default; {fix}"
        self.note("changed", parameter.name, text)
        return

    def _number(self, parameter: Parameter, value: Any) -> float | None:
        if not isinstance(value, int | float):
            raise _WrongTypeError
        if not abs(value) <= float(np.finfo(np.float32).max):
            self.note("unread", parameter.name, "beyond float32; the default stands here")
            return None
        return float(value)

    def _integer(self, parameter: Parameter, value: Any) -> int | None:
        number = self._number(parameter, value)
        if number is None:
            return None
        whole = int(value)
        if whole != value:
            self.note("changed", parameter.name, f"{value} counts as {whole}")
        if parameter.name == "seed":
            return whole % (1 << 32)
        if not -_INT32 <= whole < _INT32:
            self.note("unread", parameter.name, "beyond 32 bits; the default stands here")
            return None
        return whole

    def _boolean(self, parameter: Parameter, value: Any) -> bool:
        if not isinstance(value, bool):
            raise _WrongTypeError
        return value

    def _texts(self, parameter: Parameter, value: Any) -> list[str]:
        filled = isinstance(value, list) and (value or self.flags)
        if not filled or not all(isinstance(item, str) for item in value):
            raise _WrongTypeError
        return list(value)

    def _samplers(self, parameter: Parameter, value: Any) -> list[str] | None:
        if isinstance(value, str) and self._has("letters"):
            return self._letters(parameter, value)
        if not isinstance(value, list):
            text = f"{_type_of(value)}, not a list: the default order stands"
            self.note("changed", parameter.name, text)
            return None
        if not all(isinstance(item, str) for item in value):
            if not self._has("names_skipped"):
                raise _WrongTypeError
            self.note("changed", parameter.name, "what is no text in the list is passed over")
        return [name for item in value if isinstance(item, str) for name in self._named(item)]

    def _named(self, name: str) -> Iterator[str]:
        """Yield the sampler of a name; none, with a note, for an unknown one."""
        any_spelling = self._has("any_spelling")
        spellings = self.release.spellings
        if not (any_spelling or self.flags):
            spellings = {canonical: canonical for canonical in self.release.stages}
        sampler = spellings.get(name.lower() if any_spelling else name)
        if sampler is None:
            fix = meant(name, self.release.stages)
            self.note("unknown", f"samplers: {name}", f"passed over; {fix}")
        else:
            yield sampler

    def _letters(self, parameter: Parameter, value: Any) -> list[str]:
        if not isinstance(value, str):
            raise _WrongTypeError
        letters = self.release.letters
        if unknown := "".join(dict.fromkeys(c for c in value if c not in letters)):
            usable = ", ".join(f"{letter} {name}" for letter, name in letters.items())
            fix = f"passed over; the letters are {usable}"
            self.note("unknown", f"samplers: letters {unknown!r}", fix)
        samplers = [letters[letter] for letter in value if letter in letters]
        if not self.flags:
            text = f"a text is read letter by letter: {len(samplers)} samplers"
            self.note("changed", parameter.name, text)
        return samplers

    def _biases(self, parameter: Parameter, value: Any) -> list[list[Any]] | None:
        if isinstance(value, dict) and self._has("biases_by_token"):
            value = [[_token(token), bias] for token, bias in value.items()]
        if not isinstance(value, list):
            self.note("changed", parameter.name, f"{_type_of(value)}: it is passed over")
            return None
        pairs = [pair for pair in map(_bias, value) if pair is not None]
        if len(pairs) < len(value):
            text = (
                f"{len(value) - len(pairs)} of {len(value)} biases: only pairs of a token's number"
            )
            self.note("unread", parameter.name, f"{text} and a finite number are read here")
        return pairs

    def _bounded(self, parameter: Parameter, value: float) -> float | None:
        name, strict = parameter.name, self._has("strict_types") and not self.flags
        if name == "dry_base" and value < 1:
            self.note("changed", name, f"{value} is below 1: the default stands")
            return None
        if strict and parameter.clamp:
            return self._clamped(name, value, parameter.clamp)
        if self.flags and name == "temperature":
            return self._clamped(name, value, (0.0, math.inf))
        if problem := self._problem(parameter, value, strict):
            answers = "does not start" if self.flags else "answers 400"
            self.note("refused", name, f"{value}: {problem}; the server {answers}")
            return None
        return value

    def _clamped(self, name: str, value: float, clamp: Sequence[float]) -> float:
        least, most = clamp
        inside = type(value)(min(max(value, least), most))
        if inside != value:
            self.note("changed", name, f"{value} counts as {inside}")
        return inside

    def _problem(self, parameter: Parameter, value: float, strict: bool) -> str:
        least, most = parameter.least, parameter.most
        if least == 0 and "last_n" in parameter.name and self._has("context_is_minus_one"):
            least = -1
        if least is not None and value < least and (strict or "last_n" in parameter.name):
            return f"must not be below {least}"
        if most is not None and value > most and strict:
            return f"must not be above {most}"
        if parameter.name == "repeat_penalty" and self._has("finite_penalties"):
            with np.errstate(all="ignore"):
                usable = value > 0 and np.isfinite(np.float32(1) / np.float32(value))
            return "" if usable else "must be above 0, with a finite reciprocal"
        return ""


def _token(text: str) -> int | str:
    """Return the number of a token that a table has as a key."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else text


def _bias(pair: Any) -> list[Any] | None:
    """Return a pair of token and bias; None for one that is not read here."""
    if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], bool):
        return None
    token, bias = pair
    if not isinstance(token, int) or not 0 <= token < _INT32:
        return None
    if bias is False:
        return [token, -math.inf]
    if isinstance(bias, bool) or not isinstance(bias, int | float) or math.isnan(bias):
        return None
    return [token, float(bias)]


def _type_of(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    names |= {list: "a list", dict: "a table", type(None): "null"}
    return names.get(type(value), "another type")
