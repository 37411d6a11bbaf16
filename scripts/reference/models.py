"""Make tables of the fields of pydantic models: name, type with the default, meaning.

The meaning of a field is the string that follows it in the class, or its `description`, or the
meaning that glossary.toml gives the name on this page. A field with only one possible value has no
row. A field that several models of a page have in common has one row, in a table of its own.
"""

import ast
import importlib
import inspect
import json
import textwrap
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from scripts.reference.tables import also_line, code, described
from scripts.reference.type_names import type_name

Model = type[BaseModel]
GLOSSARY = Path(__file__).with_name("glossary.toml")
REQUIRED = "required"
OPTIONAL = "optional"  # its default is one of these
EMPTY: Sequence[Any] = (None, "", [], {})
# By page: the fields of nearly every model, of which the page has one table or a sentence.
LEFT_OUT = {"suite-toml": {"id", "description", "why"}, "protocol": {"number"}}
OUTPUT = {"bundle-records"}  # pages of what the harness writes: a reader needs no defaults
SEVERAL = 2  # models of a page that have a field in common


class FieldRow(NamedTuple):
    """A field in a table."""

    name: str
    kind: str
    default: str
    meaning: str


Common = Mapping[str, FieldRow]


def common(page: str, parts: Sequence[Sequence[str]]) -> Common:
    """Return the fields that several of these tables have with the same type and meaning, by name.
    The default is the most frequent one."""
    found: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for words in parts:
        for row in _rows(page, words):
            found[row.name, row.kind, row.meaning][row.default] += 1
    shared = sorted(
        (counts.total(), FieldRow(name, kind, counts.most_common(1)[0][0], meaning))
        for (name, kind, meaning), counts in found.items()
        if counts.total() >= SEVERAL
    )
    return {row.name: row for _, row in shared}


def common_table(page: str, shared: Common) -> str:
    """Return the table of the common fields."""
    return _table(page, sorted(shared.values()))


def fields(page: str, words: Sequence[str], shared: Common) -> str:
    """Return the table that `MODULE CLASS [without NAME...]` requests on a page, and below it the
    names of the fields that are in the table of common fields.

    NAME is a field, or a base of the class whose fields are left out. `with` names the only fields.
    """
    own: list[FieldRow] = []
    also: list[str] = []
    for row in _rows(page, words):
        one = shared.get(row.name)
        if one is None or (one.kind, one.meaning) != (row.kind, row.meaning):
            own.append(row)
        else:
            also.append(code(row.name) + _other_default(page, row, one))
    lines = [_table(page, own)] if own else []
    if also:
        lines.append(also_line(own, ", ".join(also), "fields"))
    return "\n\n".join(lines) or "No fields of its own."


def _other_default(page: str, row: FieldRow, one: FieldRow) -> str:
    if row.default == one.default or page in OUTPUT:
        return ""
    named = row.default in (REQUIRED, OPTIONAL)
    return f" ({row.default if named else f'default {row.default}'})"


def _table(page: str, rows: Sequence[FieldRow]) -> str:
    cells = [(code(row.name), _kind(page, row), row.meaning) for row in rows]
    return described(("field", "type", "meaning"), cells).replace(f"({page}.md#", "(#")


def names(page: str, words: Sequence[str]) -> str:
    """Return a sentence with the names of the fields of `MODULE CLASS`."""
    return f"Fields: {', '.join(code(row.name) for row in _rows(page, words))}."


def _kind(page: str, row: FieldRow) -> str:
    """Return the type, with "optional" or the default of a field that is not required."""
    if row.default == REQUIRED or page in OUTPUT:
        return row.kind
    return f"{row.kind}, {row.default if row.default == OPTIONAL else f'default {row.default}'}"


def _rows(page: str, words: Sequence[str]) -> Iterator[FieldRow]:
    module, name, *rest = words
    model = model_of(module, name)
    named = set(_names(model, rest[1:]))
    left_out = named | LEFT_OUT.get(page, set())
    kept = named if rest[:1] == ["with"] else model.model_fields.keys() - left_out
    for key, field in model.model_fields.items():
        if key in kept and not _constant(field):
            kind = type_name(field.annotation, field.metadata)
            yield FieldRow(field.alias or key, kind, _default(field), _meaning(page, model, key))


def _constant(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal and get_args(field.annotation) == (
        field.default,
    )


def has_fields(page: str, model: Model) -> bool:
    """Return whether a table of a model on this page would have a row."""
    left_out = LEFT_OUT.get(page, set())
    named = (field for key, field in model.model_fields.items() if key not in left_out)
    return not all(map(_constant, named))


def model_of(module: str, name: str) -> Model:
    """Return the class of a module of sampler_parity."""
    found = getattr(importlib.import_module(f"sampler_parity.{module}"), name)
    made: Model = found if isinstance(found, type) else found()
    return made


def _names(model: Model, words: Sequence[str]) -> Iterator[str]:
    bases = {base.__name__: base for base in model.__mro__ if issubclass(base, BaseModel)}
    for word in words:
        yield from bases[word].model_fields if word in bases else [word]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return REQUIRED
    value = field.get_default(call_default_factory=False)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return "its defaults"
    return code(json.dumps(value)) if value not in EMPTY else OPTIONAL


def _meaning(page: str, model: Model, name: str) -> str:
    """Return the meaning of a field. Raises LookupError for a field without one."""
    text = _written(model, name) or model.model_fields[name].description
    text = text or _glossary().get(page, {}).get(name, "")
    if not text:
        raise LookupError(f"{model.__module__}.{model.__name__}.{name} has no description")
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


@cache
def _glossary() -> dict[str, dict[str, str]]:
    return tomllib.loads(GLOSSARY.read_text(encoding="utf-8"))


def _written(model: Model, name: str) -> str:
    """Return the string after a field, of the class that defines it."""
    owners = (one for one in model.__mro__ if name in vars(one).get("__annotations__", {}))
    return _strings(next(owners)).get(name, "")


@cache
def _strings(model: type) -> dict[str, str]:
    """Return the strings that follow the fields of a class, by the field."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def within(kind: Any) -> Iterator[Model]:
    """Yield every model that a type is made of, each once: itself, and those of its fields."""
    seen: set[Model] = set()
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            if one not in seen:
                seen.add(one)
                yield one
                waiting += [field.annotation for field in one.model_fields.values()]
        else:
            waiting += get_args(one)
