"""A complete adapter in Python alone: top_k, temp, greedy and dist, without any package of ours.

    sampler-parity adapter check -- python examples/adapter.py
    sampler-parity run parity/temp batch/relations -b "mine=python examples/adapter.py"

docs/reference/protocol.md is the specification. `f32` rounds where llama.cpp holds a float, so
temp and greedy are identical to the bit. Other verdicts occur in places: top_k takes the lower ids
of equal logits (llama.cpp: those that its sort leaves), and exp is double (llama.cpp: expf).
"""

import bisect
import copy
import ctypes
import itertools
import json
import math
import random
import struct
import sys
from array import array
from typing import Any, BinaryIO


def f32(x: float) -> float:
    return ctypes.c_float(x).value


class Candidates:
    def __init__(self, logits: list[float]) -> None:
        self.ids, self.logits, self.p = list(range(len(logits))), logits, [0.0] * len(logits)
        self.selected = -1


class TopK:
    def __init__(self, k: int) -> None:
        self.k = k

    def apply(self, c: Candidates) -> None:
        if self.k > 0:
            best = sorted(range(len(c.ids)), key=lambda i: -c.logits[i])[: self.k]
            c.ids, c.logits, c.p = ([values[i] for i in best] for values in (c.ids, c.logits, c.p))


class Temp:
    def __init__(self, temp: float) -> None:
        self.temp = f32(float(temp))  # float(): JSON has no inf, it comes as "inf"

    def apply(self, c: Candidates) -> None:
        if self.temp > 0:
            c.logits = [f32(x / self.temp) for x in c.logits]
        elif c.logits:
            best = c.logits.index(max(c.logits))
            c.logits = [x if i == best else -math.inf for i, x in enumerate(c.logits)]


class Greedy:
    def apply(self, c: Candidates) -> None:
        c.selected = c.logits.index(max(c.logits))


class Dist:
    """std::mt19937 is Python's generator, seeded in another way."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        state = [self.seed]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
        self.rng = random.Random()
        self.rng.setstate((3, (*state, 624), None))

    def apply(self, c: Candidates) -> None:
        largest = max(c.logits)
        weights = [f32(math.exp(f32(x - largest))) for x in c.logits]
        running = list(itertools.accumulate(weights))
        u = (self.rng.getrandbits(32) + self.rng.getrandbits(32) * 2.0**32) / 2.0**64
        c.selected = bisect.bisect_left(running, running[-1] * u)
        c.p = [f32(weight / running[-1]) for weight in weights]


DTYPES = {"dtypes": ["float32", "bfloat16", "float16"]}
SAMPLERS: dict[str, Any] = {"top_k": TopK, "temp": Temp, "greedy": Greedy, "dist": Dist}


def build(chain: list[dict[str, dict[str, Any]]]) -> list[Any]:
    missing = [name for stage in chain for name in stage if name not in SAMPLERS]
    if missing:
        raise NotImplementedError(f"no sampler {missing[0]}")
    return [SAMPLERS[name](**parameters) for stage in chain for name, parameters in stage.items()]


def read_row(scratch: BinaryIO, rows: dict[str, Any], index: int) -> Candidates:
    dtype, n = rows.get("dtype", "float32"), rows["n"]
    size = n * (4 if dtype == "float32" else 2)
    scratch.seek(rows["at"] + size * index)
    data = scratch.read(size)
    if dtype == "bfloat16":  # the upper half of a float32
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, 2 * n, 2))
    return Candidates(list(struct.unpack(f"<{n}{'e' if dtype == 'float16' else 'f'}", data)))


def write(scratch: BinaryIO, at: int, c: Candidates) -> int:
    scratch.seek(at)
    for values in (array("i", c.ids), array("f", c.logits), array("f", c.p)):
        scratch.write(values.tobytes())
    return scratch.tell()


def sample(scratch: BinaryIO, ask: dict[str, Any], chain: list[Any], row: int) -> tuple[Any, Any]:
    """Return the token, and the path of the candidates after each stage, if they are requested."""
    c, results = read_row(scratch, ask["rows"], row), []
    for sampler in chain:
        sampler.apply(c)
        if ask["detail"] == "stages":
            stage = {"at": ask["out"], "n": len(c.ids), "sorted": None, "selected": c.selected}
            results.append(stage)
            ask["out"] = write(scratch, ask["out"], c)
    return (c.ids[c.selected] if c.selected >= 0 else None), results


def change(rows: list[Any], ask: dict[str, Any], operation: str, i: int, j: int = 0) -> None:
    if operation == "join":
        rows.append(build(ask["sequences"][i]["chain"]))
    elif operation == "clone":
        rows.append(copy.deepcopy(rows[i]))
    elif operation == "leave":
        del rows[i]
    elif operation == "swap":
        rows[i], rows[j] = rows[j], rows[i]
    else:
        for sampler in rows[i]:
            if isinstance(sampler, Dist):
                sampler.reset()


def run(scratch: BinaryIO, ask: dict[str, Any]) -> dict[str, Any]:
    instances, sampled = [build(ask["chain"]) for _ in range(ask["instances"])], []
    for step in ask["steps"]:  # none of these samplers accepts anything
        for operation in step["before"]:
            change(instances, ask, *operation)
        sampled.append(sample(scratch, ask, instances[step["instance"]], step["row"]))
    return {"ok": True, "tokens": [t for t, _ in sampled], "stages": [s for _, s in sampled]}


def batch(scratch: BinaryIO, ask: dict[str, Any]) -> dict[str, Any]:
    rows: list[Any] = []
    tokens, stages = [], []
    for step in ask["steps"]:
        for operation in step["before"]:
            change(rows, ask, *operation)
        sampled = [sample(scratch, ask, rows[one["at"]], one["row"]) for one in step["sample"]]
        tokens.append([token for token, _ in sampled])
        stages.append([results for _, results in sampled])
    return {"ok": True, "tokens": tokens, "stages": stages}


def main() -> None:
    for ask in map(json.loads, sys.stdin.buffer):  # UTF-8, also on Windows
        if ask["do"] == "bye":
            return
        try:
            if ask["do"] == "hello" and ask["protocol"] == 2:
                scratch = open(ask["scratch"], "r+b", buffering=0)  # noqa: SIM115
                reply = {"ok": True, "protocol": 2, "name": "example in Python", "version": "1"}
                reply |= {"capabilities": ["run", "batch"], "samplers": list(SAMPLERS)} | DTYPES
            elif ask["do"] in ("run", "batch"):
                reply = (run if ask["do"] == "run" else batch)(scratch, ask)
            else:
                raise NotImplementedError(f"no request {ask['do']}")
        except NotImplementedError as error:
            reply = {"ok": False, "kind": "unsupported", "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
