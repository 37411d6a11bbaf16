"""Make the JSON Schema of the adapter protocol from the models; kept in harness/schemas/."""

import functools
import json
import operator
from itertools import chain
from typing import Any, get_args

from pydantic import TypeAdapter

from sampler_parity.harness.protocol import messages as p


@functools.cache
def protocol_schema() -> str:
    """Return the text of harness/schemas/protocol.schema.json: `$defs` of every message."""
    *requests, bye = get_args(p.Request)
    pairs = zip(requests, get_args(p.Reply), strict=True)
    union = functools.reduce(operator.or_, [*chain.from_iterable(pairs), bye, p.ErrorReply])
    schema = TypeAdapter[Any](union).json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"sampler-parity adapter protocol {p.PROTOCOL_VERSION}"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
