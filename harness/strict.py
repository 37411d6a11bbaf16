"""Models at the edges, of what is read and written: no unknown key, no change after reading.

One configuration for all of them, their JSON Schema as it is committed, and the first thing that is
wrong with what was read, as one line for a user.
"""

import json
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sampler_parity.harness.sanitize import limits

# What validates is built when it is first needed: a process needs few of the models.
STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Strict(BaseModel):
    """Refuses keys that it does not know, and cannot be changed."""

    model_config = STRICT


class StrictFigures(BaseModel):
    """As Strict; infinities and NaN are strings in its JSON."""

    model_config = ConfigDict(**STRICT, ser_json_inf_nan="strings")


def schema_text(model: type[BaseModel]) -> str:
    """The text of a committed schema, of what the model writes."""
    schema = model.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


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
    """What to tell of a failed validation: pydantic's type of it, where, what, and the mend."""

    type: str
    location: tuple[int | str, ...]
    reason: str
    fix: str


def mistake(error: ValidationError) -> Mistake:
    """The mistake to show. Of a union every member complains; what is not about keys says most."""
    errors = error.errors(include_url=False)
    shown = next((e for e in errors if e["type"] not in ABOUT_KEYS), errors[0])
    reason = shown["msg"].removeprefix("Value error, ")
    return Mistake(shown["type"], shown["loc"], reason, _FIXES.get(shown["type"], ""))


def first_mistake(error: ValidationError) -> str:
    """Place and reason in one line: "chain.0.k: Field required"."""
    _, location, reason, _ = mistake(error)
    return f"{'.'.join(str(part) for part in location)}: {reason}"
