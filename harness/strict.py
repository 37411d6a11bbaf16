"""Models at the edges, of what is read and written: no unknown key, no change after reading.

One configuration for all of them, their JSON Schema as it is committed, and the first thing that is
wrong with what was read, as one line for a user. A model whose fields default to lists names
BaseModel itself and takes STRICT: ruff knows a pydantic model by that (RUF012).
"""

import json

from pydantic import BaseModel, ConfigDict, ValidationError

# What validates is built when it is first needed: a process needs few of the models.
STRICT = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Strict(BaseModel):
    """Refuses keys that it does not know, and cannot be changed."""

    model_config = STRICT


def schema_text(model: type[BaseModel]) -> str:
    """The text of a committed schema, of what the model writes."""
    schema = model.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def first_mistake(error: ValidationError) -> str:
    """Place and message of the first thing that is wrong: "chain.0.k: Field required"."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
