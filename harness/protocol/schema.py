"""Make the JSON Schema of the adapter protocol from the models; kept in harness/schemas/."""

import functools
import json
from typing import Any

from pydantic import TypeAdapter

from sampler_parity.harness.protocol import messages as p


@functools.cache
def protocol_schema() -> str:
    """Return the text of harness/schemas/protocol.schema.json: `$defs` of every message."""
    union: Any = (
        p.HelloRequest
        | p.HelloReply
        | p.RunRequest
        | p.RunReply
        | p.BatchRequest
        | p.BatchReply
        | p.DrawsRequest
        | p.DrawsReply
        | p.TimeRequest
        | p.TimeReply
        | p.DecodeRequest
        | p.DecodeReply
        | p.TokenizeRequest
        | p.TokenizeReply
        | p.CaptureRequest
        | p.CaptureReply
        | p.DevicesRequest
        | p.DevicesReply
        | p.GenerateRequest
        | p.GenerateReply
        | p.ThroughputRequest
        | p.ThroughputReply
        | p.SequencesRequest
        | p.SequencesReply
        | p.SkipRatioRequest
        | p.SkipRatioReply
        | p.SpeculativeRequest
        | p.SpeculativeReply
        | p.ByeRequest
        | p.ErrorReply
    )
    schema = TypeAdapter(union).json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"sampler-parity adapter protocol {p.PROTOCOL_VERSION}"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
