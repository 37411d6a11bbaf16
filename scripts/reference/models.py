"""Make a table of the fields of a pydantic model: name, type, default, meaning.

The meaning of a field is its `description`, or else the string that follows it in the class.
"""

import ast
import importlib
import inspect
import json
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from scripts.reference.tables import code, table
from scripts.reference.type_names import NAMED, type_name

HEAD = ("field", "type", "default", "meaning")
Model = type[BaseModel]


def fields(words: Sequence[str]) -> str:
    """Return the table that `MODULE CLASS [without NAME...]` asks for.

    NAME is a field, or a class of the module whose fields are left out.
    """
    module, name, *rest = words
    model = model_of(module, name)
    left_out = set(_names(module, rest[1:]))
    kept = {k: f for k, f in model.model_fields.items() if k not in left_out}
    return table(HEAD, [_row(model, name, field) for name, field in kept.items()])


def model_of(module: str, name: str) -> Model:
    """Return the class of a module of sampler_parity."""
    found: Model = getattr(importlib.import_module(f"sampler_parity.{module}"), name)
    return found


def _names(module: str, words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from model_of(module, word).model_fields if word[0].isupper() else [word]


def _row(model: Model, name: str, field: FieldInfo) -> list[str]:
    shown = type_name(field.annotation, field.metadata)
    return [code(field.alias or name), shown, _default(field), _meaning(model, name, field)]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=False)
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return "its defaults"
    return code(json.dumps(value))


def _meaning(model: Model, name: str, field: FieldInfo) -> str:
    text = field.description or _written(model, name)
    if not text:
        raise LookupError(f"{model.__module__}.{model.__name__}.{name} has no description")
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


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


__all__ = ["HEAD", "NAMED", "Model", "fields", "model_of", "within"]
