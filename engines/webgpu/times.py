"""Print the time of a step on the device, per row, and of the reference.

    python -m sampler_parity.engines.webgpu.times [--rows 1 8 64] [--vocab 32000 128256 262144]

A step is two chains: the usual one, and top_p without top_k. It ends when the tokens are back here.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.webgpu.device import PARTS, Device, Shaders, Task
from sampler_parity.harness.backends import environments
from sampler_parity.reference import Candidates, build_chain

Chain = list[dict[str, dict[str, float]]]
CHAINS: dict[str, Chain] = {
    "usual": [{"top_k": {"k": 40}}, {"top_p": {"p": 0.95}}, {"temp": {"temp": 0.8}}],
    "top_p": [{"top_p": {"p": 0.95}}],
}
DRAW: dict[str, dict[str, float]] = {"dist": {"seed": 1}}


def task(stage: str, row: int) -> Task:
    given = {"top_k": (40, 0.0), "top_p": (0, 0.95), "temp": (0, 0.8), "dist": (0, 0.5)}
    k, a = given[stage]
    return Task(row, k=k, a=a)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--vocab", type=int, nargs="+", default=[32_000, 128_256, 262_144])
    asked = parser.parse_args()
    if not environments.missing("webgpu"):
        sys.path += map(str, environments.packages_of("webgpu"))
    on = Device(Shaders(PARTS))
    print(on.summary)
    print("chain    vocabulary   rows   device ms/row   reference ms/row")
    for name, chain in CHAINS.items():
        for n in asked.vocab:
            for count in asked.rows:
                x = np.random.default_rng(n).normal(0, 3, (count, n)).astype(np.float32)
                here = timed(partial(on_device, on, chain, x)) / count
                there = timed(partial(on_reference, chain, x[:1]))
                print(f"{name:<8} {n:>10,} {count:>6} {here:>15.2f} {there:>18.2f}", flush=True)


def timed(step: Callable[[], float], times: int = 5) -> float:
    """Return the median time in milliseconds; the first one, which compiles, does not count."""
    step()
    return median(step() for _ in range(times))


def on_device(on: Device, chain: Chain, x: NDArray[np.float32]) -> float:
    rows = on.rows(x)
    begun = time.perf_counter()
    for stage in (name for of in [*chain, DRAW] for name in of):
        rows.run(stage, [task(stage, row) for row in range(len(x))])
    return (time.perf_counter() - begun) * 1e3


def on_reference(chain: Chain, x: NDArray[np.float32]) -> float:
    built = build_chain([*chain, DRAW])
    begun = time.perf_counter()
    for row in x:
        built.apply(Candidates.from_logits(row))
    return (time.perf_counter() - begun) * 1e3


if __name__ == "__main__":
    main()
