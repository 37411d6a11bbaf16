"""Adapters that are asked for many cases at once, each with some faults:

`python -I -S many_adapter.py FAULT...`, with Python's library alone.

Each is examples/adapter.py with the capabilities `many`, `numbers` and `table`. The file that the
variable SAMPLER_PARITY_LOG names gets a line for each request, with the temperatures of its runs. A
fault is a word, or WORD=TEMPERATURE: then it is one of each run with this temperature.
"""

import json
import os
import runpy
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/adapter.py"


def say(reply: Any) -> None:
    os.write(1, json.dumps(reply).encode() + b"\n")


def temperature(run: dict[str, Any]) -> float:
    return float(run["chain"][0].get("temp", {"temp": 0})["temp"])


def act(way: str) -> None:
    if way == "crashes":
        os._exit(3)
    if way == "hangs":
        time.sleep(60)
    if way == "kills":
        os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)
        time.sleep(9)


def tabulated(reply: dict[str, Any], run: dict[str, Any], scratch: Any) -> dict[str, Any]:
    """Write the stages of a reply into the table of its run."""
    stages = [stage for each in reply.pop("stages") for stage in each]
    rows = [(stage["n"], -1, stage["selected"]) for stage in stages]
    os.pwrite(scratch.fileno(), b"".join(struct.pack("<3i", *row) for row in rows), run["table"])
    return reply


def main() -> None:
    faults = sys.argv[1:]
    ways = {fault for fault in faults if "=" not in fault}
    at = [fault.split("=") for fault in faults if "=" in fault]
    by_run = {float(temperature): way for way, temperature in at}
    example = runpy.run_path(str(EXAMPLE))

    def answer(run: dict[str, Any], scratch: Any) -> dict[str, Any]:
        way = by_run.get(temperature(run), "")
        act(way)
        if way == "refuses":
            return {"ok": False, "kind": "rejected", "message": "not this one"}
        try:
            reply: dict[str, Any] = example["run"](scratch, run)
        except NotImplementedError as error:
            return {"ok": False, "kind": "unsupported", "message": str(error)}
        if way == "errs":
            reply["tokens"][0] ^= 1
        return reply if run.get("table") is None else tabulated(reply, run, scratch)

    for line in sys.stdin:
        ask = json.loads(line)
        if ask["do"] == "bye":
            return
        if ask["do"] == "hello":
            scratch = open(ask["scratch"], "r+b", buffering=0)  # noqa: SIM115
            claims = ["run", "numbers", *(name for name in ("many", "table") if name not in ways)]
            reply = {"ok": True, "protocol": 2, "name": "many", "version": "1"}
            say(reply | {"capabilities": claims, "samplers": list(example["SAMPLERS"])})
            continue
        runs = ask["runs"] if ask["do"] == "many" else [ask]
        with open(os.environ.get("SAMPLER_PARITY_LOG", os.devnull), "a") as file:
            file.write(json.dumps([temperature(run) for run in runs]) + "\n")
        many = ask["do"] == "many"
        if many and "dies-of-many" in ways:
            os._exit(4)
        if many and "hangs-at-many" in ways:
            time.sleep(60)
        if many and "misplaces" in ways:
            for place in ("out", "table"):
                runs[0][place], runs[1][place] = runs[1][place], runs[0][place]
        replies = [answer(run, scratch) for run in runs]
        if many and "swaps" in ways:
            replies[:2] = replies[1::-1]
        if many and "drops" in ways:
            replies.pop()
        reply = {"ok": True, "replies": replies} if many else replies[0]
        if many and "refuses-many" in ways:
            reply = {"ok": False, "kind": "unsupported", "message": "not so many"}
        say(reply | {"number": ask["number"]})
        if many and "repeats" in ways:
            time.sleep(0.05)
            say(reply | {"number": ask["number"]})
        if many and "ends" in ways:
            time.sleep(0.05)
            os._exit(5)


if __name__ == "__main__":
    main()
