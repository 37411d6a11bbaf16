"""The text of a committed schema."""

import json

from pydantic import BaseModel


def schema_text(model: type[BaseModel]) -> str:
    schema = model.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
