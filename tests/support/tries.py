"""Payloads for the tests of the token trie."""

import json
from typing import Any

from hypothesis import strategies as st

from sampler_parity.reference.trie import Leaf


def payload(*leaves: list[int], path: str = "action", model: str = "m") -> str:
    """Return one descriptor with leaves L0, L1, ..."""
    listed = [{"name": f"L{i}", "tokens": tokens} for i, tokens in enumerate(leaves)]
    return as_json([{"path": path, "leaves": listed}], model)


def as_json(descriptors: Any, model: str = "m") -> str:
    return json.dumps({"modelId": model, "descriptors": descriptors})


def stage_of(text: str, n_vocab: int, **changes: object) -> dict[str, Any]:
    """Return a stage with every parameter of the native trie: mode 0, the first path, all kept."""
    stage = {"trie_descriptor_json": text, "mode": 0, "path": "", "compact": False, "model_id": ""}
    return {"token_trie": stage | {"n_vocab": n_vocab} | changes}


# The example of its proposal: two actions, THINK [100, 101] and EXECUTE [200].
SEED = payload([100, 101], [200], model="test")


# Two spans: 5 6 or 7, then 5 8 or 9.
_ACTION = [{"name": "A", "tokens": [5, 6]}, {"name": "B", "tokens": [7]}]
_UNIT = [{"name": "C", "tokens": [5, 8]}, {"name": "D", "tokens": [9]}]
SPANS = as_json([{"path": "action", "leaves": _ACTION}, {"path": "unit", "leaves": _UNIT}])

LEAF_LISTS = st.lists(
    st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple), min_size=1, max_size=12
)


def without_prefixes(spellings: list[tuple[int, ...]]) -> tuple[Leaf, ...]:
    apart: list[tuple[int, ...]] = []
    for leaf in spellings:
        if not any(leaf[: len(o)] == o[: len(leaf)] for o in apart):
            apart.append(leaf)
    return tuple(Leaf(str(i), leaf) for i, leaf in enumerate(apart))
