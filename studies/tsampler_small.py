"""Measures the smaller claims of tsampler's documentation:

`python -m studies.tsampler_small [SECTION]...`

Sections: pool, penalty, seeds, growth, filters, working; default all. All but `pool` and `penalty`
run the TypeScript, `seeds` llama.cpp, too.
"""

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from sampler_parity.engines.tsampler.model.metrics import entropy
from sampler_parity.harness.backends import registry
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.protocol import client
from sampler_parity.reference import Candidates
from studies.sections import main
from studies.tsampler import golden

ROUNDS = 11


def pool() -> None:
    """Compare typical-p's pool: the entropy over the k largest logits with that over all 4,096."""
    rows = golden()
    whole = np.array([entropy(row) for row in rows])
    for k in (40, 256, 512):
        part = np.array([entropy(np.sort(row)[-k:]) for row in rows])
        off = abs(part - whole)
        print(f"  k = {k:<4} off by {off.mean():.4f} nats on average, {off.max():.4f} at most")


def penalty() -> None:
    """Apply repetition penalty 1.1 to the 64 likeliest tokens of each row, all in the history."""
    raised = lowered = swapped = 0
    for row in golden():
        seen = np.argsort(-row)[:64]
        chain = build_chain([{"tsampler_penalties": {"penalty_last_n": 64, "penalty_repeat": 1.1}}])
        for token in seen.tolist():
            chain.accept(token)
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        before, after = (np.exp(x - np.logaddexp.reduce(x)) for x in (row, cand.logits))
        raised += int((after[seen] > before[seen]).sum())
        lowered += int((after[seen] < before[seen]).sum())
        swapped += int((np.diff(cand.logits[seen]) > 0).any())
    print(f"  probability lower for {lowered:,}, higher for {raised:,} penalized tokens")
    print(f"  order among the penalized tokens changed in {swapped}/{len(golden())} rows")


def seeds() -> None:
    """Draw the first of 100,000 equal tokens with 20 generators in succession without a seed."""
    n = 100_000
    process = registry.start("llama.cpp")
    try:
        setting = client.Setting(complete([{"dist": {"seed": 0xFFFFFFFF}}], n), n)
        row = np.zeros(n, np.float32)
        tokens = {int(client.draws(process, setting, row, 1).tokens[0]) for _ in range(20)}
    finally:
        process.close()
    print(f"  llama.cpp, LLAMA_DEFAULT_SEED: {len(tokens)}/20 different")
    script = """
        import * as api from "%s";
        const made = () => new api.Xoroshiro128Plus(Date.now()).next();
        const different = () => new Set(Array.from({length: 20}, made)).size;
        // of 20 tries: a millisecond may end while they are made
        console.log(Math.min(...Array.from({length: 20}, different)));
    """
    print(f"  tsampler, Date.now(): {_node(script)}/20 different")


def growth() -> None:
    """Time the workspace from 40 to 512 slots, microseconds in all, median of 200."""
    script = """
        import * as api from "%s";
        const times = [];
        for (let i = 0; i < 400; i++) {
          const workspace = new api.SamplerWorkspace(40);
          const start = process.hrtime.bigint();
          for (const k of [64, 128, 256, 512]) workspace.ensureCapacity(k);
          times.push(Number(process.hrtime.bigint() - start) / 1000);
        }
        const late = times.slice(200).sort((a, b) => a - b);
        console.log(JSON.stringify([late[100], Math.max(...late)]));
    """
    median, slowest = json.loads(_node(script))
    print(f"  {median:.1f}, {slowest:.0f} at most")


def history() -> None:
    """Time an accept in nanoseconds by the length of the window, which is full; median of 200."""
    script = """
        import * as api from "%s";
        const median = (n) => {
          const tracker = new api.TokenHistoryTracker(n), times = [];
          for (let i = 0; i < n; i++) tracker.accept(i * 7919 % 32000);
          for (let round = 0; round < 400; round++) {
            const start = process.hrtime.bigint();
            for (let i = 0; i < 1000; i++) tracker.accept(i * 104729 % 32000);
            times.push(Number(process.hrtime.bigint() - start) / 1000);
          }
          return times.slice(200).sort((a, b) => a - b)[100];
        };
        console.log(JSON.stringify([64, 4096, 262144].map((n) => [n, median(n)])));
    """
    for n, ns in json.loads(_node(script.replace(" % 32000", " %% 32000"))):
        print(f"  window {n:>7,}: {ns:.0f}")


def _node(script: str, *flags: str, **environment: str) -> str:
    source = script % ((engines_folder() / "tsampler") / "dist" / "api" / "index.js").as_uri()
    command = ["node", *flags, "--input-type=module", "-e", source]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def filters() -> None:
    """Time single filters in milliseconds, median of 30, V = 65,536 (zipf logits)."""
    n = 65_536
    top: Callable[[int], dict[str, Any]] = lambda k: {"tsampler_top_k": {"k": k}}  # noqa: E731
    chains: dict[str, list[dict[str, Any]]] = {
        **{f"top-k {k}": [top(k)] for k in (10, 40, 256, 512, 1024)},
        "top-k 256, top-p 0.95": [top(256), {"tsampler_top_p": {"p": 0.95}}],
        "top-k 256, typical-p 0.9": [top(256), {"tsampler_typical_p": {"p": 0.9}}],
        "top-k 512, typical-p 0.9": [top(512), {"tsampler_typical_p": {"p": 0.9}}],
    }
    process = registry.start("tsampler")
    try:
        row = FAMILIES["zipf"](np.random.default_rng(1), n).astype(np.float32)
        for name, chain in chains.items():
            ns = client.time(process, client.Setting(complete(chain, n), n), row, 60).ns[30:]
            print(f"  {name:<26}{np.median(ns) / 1e6:.3f}")
    finally:
        process.close()


_WORKING = """
import * as api from "%s";
const n = 65536, tokens = 150;
const logits = Float32Array.from({length: n}, (_, i) => 10 - 1.2 * Math.log(1 + (i * 7919) %% n));
const sampling = (penaltyRepeat, working) => {
  const tokenHistory = new api.TokenHistoryTracker(64), workspace = new api.SamplerWorkspace();
  if (working) workspace.ensureWorkingLogits(n);
  const prng = new api.Xoroshiro128Plus(1), params = {penaltyRepeat};
  const opts = {tokenHistory, workspace, prng, params};
  return () => tokenHistory.accept(api.sampleWithStrategy(logits, opts));
};
const softmax = (k) => {
  const set = api.applyTopK(logits, k, new api.SamplerWorkspace());
  return () => api.softmax(set);
};
const step = {
  "no penalty": () => sampling(1, false),
  "accessor": () => sampling(1.1, false),
  "workingLogits": () => sampling(1.1, true),
  "softmax of 256": () => softmax(256),
  "softmax of 65,536": () => softmax(0),
}[process.env.WAY]();
for (let i = 0; i < 100; i++) step();
global.gc();
const before = process.memoryUsage().heapUsed, start = process.hrtime.bigint();
for (let i = 0; i < tokens; i++) step();
const ns = Number(process.hrtime.bigint() - start);
console.log(JSON.stringify([ns / tokens, (process.memoryUsage().heapUsed - before) / tokens]));
"""
WAYS = ("no penalty", "accessor", "workingLogits", "softmax of 256", "softmax of 65,536")


def working() -> None:
    """Time penalty 1.1 by accessor and on workingLogits, and softmax; V = 65,536, taking turns."""
    flags = ("--expose-gc", "--max-semi-space-size=512", "--min-semi-space-size=512")
    runs = [
        {way: json.loads(_node(_WORKING, *flags, WAY=way)) for way in WAYS} for _ in range(ROUNDS)
    ]
    for way in WAYS:
        ns, heap = np.median([run[way] for run in runs], axis=0)
        print(f"  {way:<18}{ns / 1e6:7.3f} ms, {heap:9,.0f} bytes of heap a token")
    ratios = [run["accessor"][0] / run["workingLogits"][0] for run in runs]
    interval = scipy.stats.bootstrap(
        (ratios,), np.median, rng=np.random.default_rng(0)
    ).confidence_interval
    print(
        f"  accessor over workingLogits: {np.median(ratios):.2f} "
        f"[{interval.low:.2f}, {interval.high:.2f}] times, {ROUNDS} rounds"
    )


SECTIONS: dict[str, Callable[[], None]] = {
    "pool": pool,
    "penalty": penalty,
    "seeds": seeds,
    "growth": growth,
    "history": history,
    "filters": filters,
    "working": working,
}

if __name__ == "__main__":
    main(__doc__, SECTIONS)
