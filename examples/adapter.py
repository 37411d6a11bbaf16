"""A complete adapter in Python alone: top_k, temp, greedy and dist, without any package of ours.

    sampler-parity adapter check -- python examples/adapter.py
    sampler-parity run parity/temp parity/greedy -b "mine=python examples/adapter.py"

docs/adapter-protocol.md specifies what is said here. `f32` rounds where llama.cpp holds a float, so
temp and greedy are identical to the bit. Of equal logits top_k takes the lower ids (llama.cpp what
its sort leaves), and exp is double (llama.cpp: expf): other verdicts than `identical`, in places.
"""

import bisect
import copy
import ctypes
import itertools
import json
import math
import random
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
        low, high = self.rng.getrandbits(32), self.rng.getrandbits(32)
        u = (low + high * 2.0**32) / 2.0**64
        c.selected = bisect.bisect_left(running, running[-1] * u)
        c.p = [f32(weight / running[-1]) for weight in weights]


SAMPLERS: dict[str, Any] = {"top_k": TopK, "temp": Temp, "greedy": Greedy, "dist": Dist}


def build(chain: list[dict[str, dict[str, Any]]]) -> list[Any]:
    missing = [name for stage in chain for name in stage if name not in SAMPLERS]
    if missing:
        raise NotImplementedError(f"no sampler {missing[0]}")
    return [SAMPLERS[name](**parameters) for stage in chain for name, parameters in stage.items()]


def read_row(scratch: BinaryIO, rows: dict[str, int], index: int) -> Candidates:
    scratch.seek(rows["at"] + 4 * rows["n"] * index)
    values = array("f")
    values.frombytes(scratch.read(4 * rows["n"]))
    return Candidates(values.tolist())


def write(scratch: BinaryIO, at: int, c: Candidates) -> int:
    scratch.seek(at)
    for values in (array("i", c.ids), array("f", c.logits), array("f", c.p)):
        scratch.write(values.tobytes())
    return scratch.tell()


def run(scratch: BinaryIO, ask: dict[str, Any]) -> dict[str, Any]:
    instances = [build(ask["chain"]) for _ in range(ask["instances"])]
    at, tokens, stages = ask["out"], [], []
    for step in ask["steps"]:
        for operation, index in step["before"]:
            if operation == "clone":
                instances.append(copy.deepcopy(instances[index]))
                continue
            for sampler in instances[index]:
                if isinstance(sampler, Dist):
                    sampler.reset()
        c, results = read_row(scratch, ask["rows"], step["row"]), []
        for sampler in instances[step["instance"]]:  # none of these accepts anything
            sampler.apply(c)
            if ask["detail"] == "stages":
                results.append({"at": at, "n": len(c.ids), "sorted": None, "selected": c.selected})
                at = write(scratch, at, c)
        tokens.append(c.ids[c.selected] if c.selected >= 0 else None)
        stages.append(results)
    return {"ok": True, "tokens": tokens, "stages": stages}


def main() -> None:
    for ask in map(json.loads, sys.stdin.buffer):  # UTF-8, also on Windows
        if ask["do"] == "bye":
            return
        try:
            if ask["do"] == "hello" and ask["protocol"] == 1:
                scratch = open(ask["scratch"], "r+b", buffering=0)  # noqa: SIM115
                reply = {"ok": True, "protocol": 1, "name": "example in Python", "version": "1"}
                reply |= {"capabilities": ["run"], "samplers": list(SAMPLERS)}
            elif ask["do"] == "run":
                reply = run(scratch, ask)
            else:
                raise NotImplementedError(f"no request {ask['do']}")
        except NotImplementedError as error:
            reply = {"ok": False, "kind": "unsupported", "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
