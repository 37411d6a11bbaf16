"""Run test vectors with pytest alone: `VECTORS=kit SAMPLER=my_sampler pytest run_vectors.py`.

Copy this file. The module that SAMPLER names has `sample(name, test)`. It returns (ids, logits,
token) of what is left, or None for a sampler that it lacks. The README of the kit has the fields.
"""

import importlib
import json
import os
import struct
from pathlib import Path

import pytest

KIT = Path(os.environ.get("VECTORS", "."))
ROWS = (KIT / "rows.f32").read_bytes()


def numbers(row):
    """Return the numbers of a row, as a list."""
    if isinstance(row, dict):
        return list(struct.unpack_from(f"<{row['n']}f", ROWS, 4 * row["at"]))
    return [float(value) for value in row]


def as_float32(values):
    return list(struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values)))


def vectors():
    for path in sorted((KIT / "vectors").glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        for test in file["tests"]:
            test["logits"] = as_float32(numbers(test["logits"]))
            test.setdefault("ids", list(range(len(test["logits"]))))
            yield pytest.param(file["sampler"], test, id=test["id"])


def problem(test, ids, logits, token):
    """Return what is wrong with a result, or ""."""
    right, before = test["right"], dict(zip(test["ids"], test["logits"], strict=True))
    left = {i: x for i, x in zip(ids, logits, strict=True) if x != -float("inf")}
    stay = set(right.get("stay", [i for i, x in before.items() if x != -float("inf")]))
    may = set(right.get("may", []))
    if len(set(ids)) < len(ids):
        return "an id comes twice"
    for i in stay:
        if i not in left:
            return f"token {i} must stay"
    for i in left:
        if i not in stay and i not in may:
            return f"token {i} must go"
    if not right.get("least", len(stay)) <= len(left) <= right.get("most", len(stay)):
        return f"{len(left)} tokens stay, not {right['least']} to {right['most']}"
    low = high = before
    if "low" in right:
        order = right.get("ids", test["ids"])
        low, high = (dict(zip(order, numbers(right[end]), strict=True)) for end in ("low", "high"))
    for i, x in left.items():
        if not low[i] <= x <= high[i]:
            return f"token {i} has {x}, not {low[i]} to {high[i]}"
    if "tokens" in right and token not in right["tokens"]:
        return f"token {token} is selected, not {right['tokens']}"
    return ""


@pytest.mark.parametrize(("name", "test"), vectors())
def test_vector(name, test):
    if "right" not in test:
        pytest.skip("only the result of llama.cpp is known")
    result = importlib.import_module(os.environ["SAMPLER"]).sample(name, test)
    if result is None:
        pytest.skip(f"no {name}")
    assert not problem(test, *result), test["about"]
