"""Run test vectors with pytest alone: `VECTORS=kit SAMPLER=my_sampler pytest run_vectors.py`.

Copy this file. The module that SAMPLER names has `sample(name, test)`. It returns (ids, logits,
token) of what is left, or None for a sampler that it lacks. For scripts it has `make(name,
parameters, seed)`: an object with `apply(test)`, `accept(token)`, `reset()` and `clone()`, or None.
With EXACT=1 the result must be llama.cpp's to the bit: ids, logits, token, and also (p, sorted)
where five values are returned. The README of the kit has the fields.
"""

import ctypes
import importlib
import json
import os
import struct
from pathlib import Path

import pytest

KIT = Path(os.environ.get("VECTORS", "."))
ROWS = (KIT / "rows.f32").read_bytes()
EXACT = os.environ.get("EXACT") == "1"


def numbers(row):
    """Return the numbers of a row, as a list."""
    if isinstance(row, dict):
        return list(struct.unpack_from(f"<{row['n']}f", ROWS, 4 * row["at"]))
    return [float(value) for value in row]


def as_float32(values):
    return list(struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values)))


def read_tests(kind):
    for path in sorted((KIT / kind).glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        for test in file["tests"]:
            for call in test.get("calls", [test]):
                if "logits" in call:
                    call["logits"] = as_float32(numbers(call["logits"]))
                    call["p"] = as_float32(numbers(call.get("p", [0] * len(call["logits"]))))
                    call.setdefault("ids", list(range(len(call["logits"]))))
            yield pytest.param(file["sampler"], test, id=test["id"])


def problem(test, ids, logits, token, *more):
    """Return what is wrong with a result, or ""."""
    if EXACT:
        return exact_problem(test, ids, logits, token, *more)
    if "right" not in test:
        return ""
    if "token_alone" in test["right"]:
        return "" if token in test["right"]["tokens"] else f"token {token} is selected"
    right, before = test["right"], dict(zip(test["ids"], test["logits"], strict=True))
    after = {i: x for i, x in zip(ids, logits, strict=True) if x != -float("inf")}
    stay = set(right.get("stay", [i for i, x in before.items() if x != -float("inf")]))
    may = set(right.get("may", []))
    if len(set(ids)) < len(ids):
        return "an id comes twice"
    for i in stay:
        if i not in after:
            return f"token {i} must stay"
    for i in after:
        if i not in stay and i not in may:
            return f"token {i} must go"
    if not right.get("least", len(stay)) <= len(after) <= right.get("most", len(stay)):
        return f"{len(after)} tokens stay, not {right['least']} to {right['most']}"
    low = high = before
    if "low" in right:
        order = right.get("ids", test["ids"])
        low, high = (dict(zip(order, numbers(right[end]), strict=True)) for end in ("low", "high"))
    for i, x in after.items():
        if not low[i] <= x <= high[i]:
            return f"token {i} has {x}, not {low[i]} to {high[i]}"
    if "tokens" in right and token not in right["tokens"]:
        return f"token {token} is selected, not {right['tokens']}"
    return ""


def exact_problem(test, ids, logits, token, p=None, is_sorted=None):
    """Return where a result differs from llama.cpp's, or ""."""
    exact, places = test["exact"], {i: k for k, i in enumerate(test["ids"])}
    if list(ids) != exact.get("ids", test["ids"]):
        return "other ids are left, or in another order"
    for name, values in (("logits", logits), ("p", p)):
        want = exact.get(name, [test[name][places[i]] for i in ids])
        if values is not None and bits(values) != bits(numbers(want)):
            return f"{name} differ"
    if token != exact.get("token", token):
        return f"token {token} is selected, not {exact['token']}"
    if is_sorted not in (None, exact.get("sorted", "sorted" in test.get("flags", []))):
        return f"sorted is {is_sorted}"
    return ""


def bits(values):
    # Beyond the range of float32, struct.pack raises an error; a cast gives inf, as elsewhere.
    return [b"nan" if x != x else bytes(ctypes.c_float(x)) for x in values]


def loaded():
    return importlib.import_module(os.environ["SAMPLER"])


@pytest.mark.parametrize(("name", "test"), read_tests("vectors"))
def test_vector(name, test):
    if "right" not in test and not EXACT:
        pytest.skip("only the result of llama.cpp is known")
    result = loaded().sample(name, test)
    if result is None:
        pytest.skip(f"no {name}")
    assert not problem(test, *result), test["about"]


@pytest.mark.parametrize(("name", "script"), read_tests("scripts"))
def test_script(name, script):
    if not hasattr(loaded(), "make"):
        pytest.skip("no samplers with a state")

    def make():
        return loaded().make(name, script["parameters"], script.get("seed"))

    if make() is None:
        pytest.skip(f"no {name}")
    assert not script_problem(script, make), script["about"]


def script_problem(script, make):
    """Make the calls of a script. Return what is wrong first, or ""."""
    instances = [make() for _ in range(script.get("instances", 1))]
    for number, call in enumerate(script["calls"], 1):
        on = instances[call.get("on", 0)]
        if call["call"] == "accept":
            on.accept(call["token"])
        elif call["call"] == "reset":
            on.reset()
        elif call["call"] == "clone":
            instances.append(on.clone())
        elif wrong := problem(call, *on.apply(call)):
            return f"call {number}: {wrong}"
    return ""
