"""Strict models for data that is read and written: no unknown key, no change after reading.

All share one configuration. `first_mistake` describes the first error in a file in one line.
"""

from typing import Annotated, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sampler_parity.harness.sanitize import limits

# Validators are built when they are first needed: a process needs few of the models.
STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


M = TypeVar("M", bound=BaseModel)
_set = object.__setattr__  # past a frozen model


class Strict(BaseModel):
    """Refuses keys that it does not know, and cannot be changed."""

    model_config = STRICT


class StrictFigures(BaseModel):
    """As Strict; infinities and NaN are strings in its JSON."""

    model_config = ConfigDict(**STRICT, ser_json_inf_nan="strings")


def like(model: M, **changes: object) -> M:
    """Return a copy of a frozen model with other values, which are not validated; four times as
    fast as model_copy."""
    kind = model.__class__
    copied = kind.__new__(kind)
    _set(copied, "__dict__", {**model.__dict__, **changes})
    _set(copied, "__pydantic_fields_set__", model.__pydantic_fields_set__ | changes.keys())
    _set(copied, "__pydantic_extra__", None)
    _set(copied, "__pydantic_private__", None)
    return copied


Seed = Annotated[int, Field(ge=0, le=limits.WHOLE)]
Steps = Annotated[int, Field(ge=1, le=limits.STEPS)]
Random = Annotated[int, Field(ge=0, le=limits.RANDOM)]
Count = Annotated[int, Field(ge=1, le=limits.RANDOM)]
Token = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]  # llama_token is an int32
Tokens = Annotated[list[Token], Field(max_length=limits.TOKENS)]
Size = Annotated[int, Field(ge=1, le=limits.VOCAB)]
Id = Annotated[str, Field(max_length=limits.ID)]

ABOUT_KEYS = {"extra_forbidden": "remove it or correct its name", "missing": "add it"}
_FIXES = ABOUT_KEYS | {"string_too_long": "shorten it"}


class Mistake(NamedTuple):
    """A failed validation: pydantic's type of it, the place, the problem and the fix."""

    type: str
    location: tuple[int | str, ...]
    reason: str
    fix: str


def mistake(error: ValidationError) -> Mistake:
    """Return the mistake to show. Every member of a union reports one: those that are not about
    keys are the most useful."""
    errors = error.errors(include_url=False)
    chosen = next((e for e in errors if e["type"] not in ABOUT_KEYS), errors[0])
    reason = chosen["msg"].removeprefix("Value error, ")
    return Mistake(chosen["type"], chosen["loc"], reason, _FIXES.get(chosen["type"], ""))


def first_mistake(error: ValidationError) -> str:
    """Format place and reason in one line: "chain.0.k: Field required"."""
    _, location, reason, _ = mistake(error)
    return f"{'.'.join(str(part) for part in location)}: {reason}"
