"""Make a table of the fields of a pydantic model: name, type, default, meaning.

The meaning of a field is the string that follows it in the class, or its `description`, or the
meaning that glossary.toml gives the name on this page.
"""

import ast
import importlib
import inspect
import json
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from scripts.reference.tables import code, table
from scripts.reference.type_names import type_name

HEAD = ("field", "type", "default", "meaning")
Model = type[BaseModel]
GLOSSARY = Path(__file__).with_name("glossary.toml")


def fields(page: str, words: Sequence[str]) -> str:
    """Return the table that `MODULE CLASS [without NAME...]` asks for on a page.

    NAME is a field, or a base of the class whose fields are left out.
    """
    module, name, *rest = words
    model = model_of(module, name)
    left_out = set(_names(model, rest[1:]))
    kept = {k: f for k, f in model.model_fields.items() if k not in left_out}
    rows = [[*_facts(name, field), _meaning(page, model, name)] for name, field in kept.items()]
    return table(HEAD, rows).replace(f"({page}.md#", "(#")


def model_of(module: str, name: str) -> Model:
    """Return the class of a module of sampler_parity."""
    found: Model = getattr(importlib.import_module(f"sampler_parity.{module}"), name)
    return found


def _names(model: Model, words: Sequence[str]) -> Iterator[str]:
    bases = {base.__name__: base for base in model.__mro__ if issubclass(base, BaseModel)}
    for word in words:
        yield from bases[word].model_fields if word in bases else [word]


def _facts(name: str, field: FieldInfo) -> list[str]:
    shown = type_name(field.annotation, field.metadata)
    return [code(field.alias or name), shown, _default(field)]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=False)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return "its defaults"
    return code(json.dumps(value))


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
