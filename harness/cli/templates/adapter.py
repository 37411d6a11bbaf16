"""An adapter for sampler-parity. Python's standard library alone.

    sampler-parity adapter check -- python adapter.py
    sampler-parity run parity/temp -b "mine=python adapter.py"

greedy is complete; implement temp. Samplers that you add to SAMPLERS, under llama.cpp's name and
with its parameters, are tested, too.
"""

import copy
import ctypes
import json
import sys
from array import array
from typing import Any, BinaryIO


def f32(x: float) -> float:
    """Round as llama.cpp does, which computes in float."""
    return ctypes.c_float(x).value


class Candidates:
    """selected is an index, or -1."""

    def __init__(self, logits: list[float]) -> None:
        self.ids, self.logits, self.p = list(range(len(logits))), logits, [0.0] * len(logits)
        self.selected = -1


class Sampler:
    """accept, reset: for samplers that remember tokens. clone: all fields are copied."""

    def apply(self, c: Candidates) -> None:
        raise NotImplementedError

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass


class Greedy(Sampler):
    """Selects the first largest logit."""

    def apply(self, c: Candidates) -> None:
        c.selected = c.logits.index(max(c.logits))


class Temp(Sampler):
    """Divides every logit by the temperature."""

    def __init__(self, temp: Any) -> None:
        self.temp = f32(float(temp))  # JSON has no infinities: they come as "inf" and "-inf"

    def apply(self, c: Candidates) -> None:
        # Fill in: at temp <= 0 the first largest logit stays, and every other becomes -math.inf.
        if self.temp != 0:
            c.logits = [f32(x / self.temp) for x in c.logits]


SAMPLERS: dict[str, Any] = {"greedy": Greedy, "temp": Temp}
# For `run --accept correct`: the formats of your numbers, and more (docs/reference/protocol.md).
ARITHMETIC = {"logits": "float32", "sums": "float32"}
RANDOM = "mt19937"  # or "own", if a seed gives other numbers than in llama.cpp

# The rest is the protocol: docs/reference/protocol.md of sampler-parity.


def build(chain: list[dict[str, dict[str, Any]]]) -> list[Sampler]:
    stages = [(name, parameters) for stage in chain for name, parameters in stage.items()]
    for name, _ in stages:
        if name not in SAMPLERS:
            raise NotImplementedError(f"no sampler {name}")
    return [SAMPLERS[name](**parameters) for name, parameters in stages]


def accept(chain: list[Sampler], token: int) -> None:
    for sampler in chain:
        sampler.accept(token)


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
    chains = [build(ask["chain"]) for _ in range(ask["instances"])]
    for chain in chains:
        for token in ask["history"]:
            accept(chain, token)
    at, tokens, stages = ask["out"], [], []
    for step in ask["steps"]:
        for operation, index in step["before"]:
            if operation == "clone":
                chains.append(copy.deepcopy(chains[index]))
            else:
                for sampler in chains[index]:
                    sampler.reset()
        c, results = read_row(scratch, ask["rows"], step["row"]), []
        for sampler in chains[step["instance"]]:
            sampler.apply(c)
            if ask["detail"] == "stages":
                results.append({"at": at, "n": len(c.ids), "sorted": None, "selected": c.selected})
                at = write(scratch, at, c)
        token = c.ids[c.selected] if c.selected >= 0 else None
        accepted = token if step["accept"] == "selected" else step["accept"]
        if accepted is not None:
            accept(chains[step["instance"]], accepted)
        tokens.append(token)
        stages.append(results)
    return {"ok": True, "tokens": tokens, "stages": stages, "ns": 0}


def main() -> None:
    for ask in map(json.loads, sys.stdin.buffer):  # UTF-8, also on Windows
        if ask["do"] == "bye":
            return
        try:
            if ask["do"] == "hello" and ask["protocol"] == 1:
                scratch = open(ask["scratch"], "r+b", buffering=0)  # noqa: SIM115
                reply = {"ok": True, "protocol": 1, "name": "mine", "version": "1"}
                reply |= {"capabilities": ["run"], "samplers": list(SAMPLERS)}
                reply |= {"arithmetic": ARITHMETIC, "random": RANDOM}
            elif ask["do"] == "run":
                reply = run(scratch, ask)
            else:
                raise NotImplementedError(f"no request {ask['do']}")
        except NotImplementedError as error:
            reply = {"ok": False, "kind": "unsupported", "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
