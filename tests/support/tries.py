"""Payloads for the tests of the token trie."""

import json
from typing import Any


def payload(*leaves: list[int], path: str = "action", model: str = "m") -> str:
    """One descriptor with leaves L0, L1, ..."""
    listed = [{"name": f"L{i}", "tokens": tokens} for i, tokens in enumerate(leaves)]
    return as_json([{"path": path, "leaves": listed}], model)


def as_json(descriptors: Any, model: str = "m") -> str:
    return json.dumps({"modelId": model, "descriptors": descriptors})


# The example of its proposal: two actions, THINK [100, 101] and EXECUTE [200].
SEED = payload([100, 101], [200], model="test")
