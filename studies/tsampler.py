"""Measures the claims of tsampler's documentation: `python -m studies.tsampler [SECTION]...`

Sections: modes, llama_cpp, temperature, arithmetic, penalties, hugging_face, times, memory; default
all. The rows are the 320 of golden/small.gguf. `times` and `memory` run the TypeScript; the rest
runs the reference, which the suites of engines/tsampler hold equal to it, to the bit.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared import v8_math
from sampler_parity.engines.tsampler.model import filters, sample
from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams
from sampler_parity.harness.backends import registry
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.protocol import client
from sampler_parity.reference import Candidates, floats
from studies.sections import main

Row = NDArray[np.float32]
PLAIN = {"penalty_repeat": 1.0}


def golden() -> list[Row]:
    return [row.astype(np.float32) for row in fixtures.load("small")]


def ours(row: Row, mode: sample.Mode = "parity", **params: Any) -> Candidates:
    return sample.filtered(row, TokenHistoryTracker(0), SamplingParams(**PLAIN | params), mode)


def native(row: Row, *stages: dict[str, Any]) -> Candidates:
    cand = Candidates.from_logits(row)
    build_chain([*stages, {"dist": {"seed": 0}}], n_vocab=len(row)).apply(cand)
    return cand


def masses(cand: Candidates, n: int) -> NDArray[np.float64]:
    """Return probabilities by id, normalized."""
    mass = np.zeros(n)
    mass[cand.ids] = cand.p
    return np.asarray(mass / mass.sum())


def compare(name: str, pairs: list[tuple[Candidates, Candidates]], n: int) -> None:
    """Print how many pairs keep the same tokens, and how far apart the distributions are."""
    survivors = [set(a.ids[a.p > 0].tolist()) == set(b.ids[b.p > 0].tolist()) for a, b in pairs]
    bits = [
        np.array_equal(a.ids, b.ids) and np.array_equal(a.logits, b.logits) and same
        for (a, b), same in zip(pairs, survivors, strict=True)
    ]
    tv = [abs(masses(a, n) - masses(b, n)).sum() / 2 for a, b in pairs]
    sizes = [np.mean([len(pair[i]) for pair in pairs]) for i in (0, 1)]
    print(
        f"  {name:<58} same tokens {sum(survivors)}/{len(pairs)}, same order and logits "
        f"{sum(bits)}/{len(pairs)}, total variation median {np.median(tv):.2g}, max {max(tv):.2g}, "
        f"tokens kept {sizes[0]:.1f} and {sizes[1]:.1f}"
    )


def modes() -> None:
    """Compare fast with parity."""
    rows = golden()
    settings: tuple[tuple[str, dict[str, Any]], ...] = (
        ("top_k 40, other defaults", {}),
        ("top_k 0, other defaults", {"top_k": 0}),
        ("top_k 0, top_p 0.95 alone", {"top_k": 0, "min_p": 0.0}),
        ("top_k 0, top_p 1, min_p 0, temp 1.2", {"top_k": 0, "min_p": 0, "top_p": 1, "temp": 1.2}),
        ("top_k 0, typical_p 0.9 alone", {"top_k": 0, "typical_p": 0.9, "top_p": 1, "min_p": 0.0}),
    )
    for name, params in settings:
        compare(name, [(ours(r, "fast", **params), ours(r, **params)) for r in rows], 4096)
    for family in ("zipf", "flat"):
        made = [
            FAMILIES[family](np.random.default_rng(seed), 32000).astype(np.float32)
            for seed in range(8)
        ]
        params = {"top_k": 0, "min_p": 0.0}
        pairs = [(ours(r, "fast", **params), ours(r, **params)) for r in made]
        compare(f"{family}, V = 32,000, top_k 0, top_p 0.95 alone", pairs, 32000)


def llama_cpp() -> None:
    """Compare parity mode with llama.cpp v0.5.0, the same parameters."""
    rows, keep = golden(), {"min_keep": 0}
    tail = [{"top_p": {"p": 0.95, **keep}}, {"min_p": {"p": 0.05, **keep}}]
    warm: dict[str, Any] = {"temp": {"temp": 0.8}}
    k40: dict[str, Any] = {"top_k": {"k": 40}}
    typical: dict[str, Any] = {"typical_p": {"p": 0.9, **keep}}
    chains: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
        ("defaults", {}, [k40, *tail, warm]),
        ("defaults, top_k 0", {"top_k": 0}, [*tail, warm]),
        ("defaults, typical_p 0.9", {"typical_p": 0.9}, [k40, typical, *tail, warm]),
        (
            "defaults, top_n_sigma 1 where each has it",
            {"top_n_sigma": 1.0},
            [{"top_n_sigma": {"n": 1.0}}, k40, *tail, warm],
        ),
        (
            "defaults, top_n_sigma 1 behind min_p in both",
            {"top_n_sigma": 1.0},
            [k40, *tail, {"top_n_sigma": {"n": 1.0}}, warm],
        ),
    ]
    for name, params, chain in chains:
        compare(name, [(ours(r, **params), native(r, *chain)) for r in rows], 4096)
    greedy = [int(r.argmax()) for r in rows]
    tiny = [native(r, k40, *tail, {"temp": {"temp": 0.0009}}) for r in rows]
    certain = sum(
        c.p.max() == 1 and int(c.ids[c.p.argmax()]) == g for c, g in zip(tiny, greedy, strict=True)
    )
    print(f"  temp 0.0009 (greedy in tsampler) is certain in llama.cpp: {certain}/{len(rows)} rows")


def temperature() -> None:
    """Compare temperature before the filters with temperature behind them."""
    rows = golden()
    settings: tuple[tuple[str, dict[str, Any]], ...] = (
        ("top_k 40 alone", {"top_p": 1.0, "min_p": 0.0}),
        ("top_p 0.95 alone", {"top_k": 0, "min_p": 0.0}),
        ("min_p 0.05 alone", {"top_k": 0, "top_p": 1.0}),
        ("defaults", {}),
    )
    for temp in (0.5, 0.8, 1.5):
        for name, params in settings:
            pairs = []
            for row in rows:
                early = filters.candidates_from_logits(row)
                filters.temperature(early, temp)
                pairs.append(
                    (ours(early.logits, temp=1.0, **params), ours(row, temp=temp, **params))
                )
            compare(f"temp {temp}, {name}", pairs, 4096)


def arithmetic() -> None:
    """Compare V8's exp and log (fdlibm) with glibc's, in double."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-50, 0, 2_000_000)
    for name, a, b in (
        ("exp(x), x in -50..0", v8_math.exp(x), floats.exp(x)),
        ("log(x), x in 0..1", v8_math.log(-x / 50), floats.log(-x / 50)),
    ):
        single = (a.astype(np.float32) != b.astype(np.float32)).sum()
        print(f"  {name}: {(a != b).sum():,}/{len(x):,} differ, {single} once rounded to float32")


def penalties() -> None:
    """Compare penalties with llama.cpp's, one occurrence of every token, logits that differ."""
    row = np.random.default_rng(0).normal(0, 3, 100_000).astype(np.float32)
    for repeat, freq, present in (
        (1.1, 0.0, 0.0),
        (1.25, 0.0, 0.0),
        (1.1, 0.3, 0.2),
        (1.25, 0.375, 0.625),
    ):
        parameters = {"penalty_repeat": repeat, "penalty_freq": freq, "penalty_present": present}
        results = []
        for prefix in ("tsampler_", ""):
            chain = build_chain(
                [{f"{prefix}penalties": {"penalty_last_n": len(row), **parameters}}]
            )
            for token in range(len(row)):
                chain.accept(token)
            cand = Candidates.from_logits(row)
            chain.apply(cand)
            results.append(cand.logits)
        a, b = results
        print(
            f"  repeat {repeat}, freq {freq}, present {present}: {(a != b).sum():,}/{len(row):,} "
            f"differ, by at most {abs(a - b).max():.2g}"
        )


def hugging_face() -> None:
    """Show Hugging Face's logits 4, -4 and 0 of repeated tokens, repetition penalty 2."""
    try:
        import torch
        import transformers
    except ImportError:
        print("  not measured: transformers and torch are not installed")
        return
    seen, scores = torch.tensor([[0, 1, 2, 1]]), torch.tensor([[4.0, -4.0, 0.0, 1.0]])
    penalized = transformers.RepetitionPenaltyLogitsProcessor(2.0)(seen, scores)
    print(f"  transformers {transformers.__version__}: {penalized[0, :3].tolist()}")


def times() -> None:
    """Time a token in milliseconds, median of 30 (zipf logits, no penalties)."""
    keep = {"min_keep": 0}
    default = (
        {"top_p": {"p": 0.95, **keep}},
        {"min_p": {"p": 0.05, **keep}},
        {"temp": {"temp": 0.8}},
    )
    chains: list[tuple[str, str, list[dict[str, Any]]]] = [
        ("tsampler", "fast, top_k 40", [{"tsampler": {"seed": 1, **PLAIN}}]),
        ("tsampler", "fast, top_k 0", [{"tsampler": {"seed": 1, "top_k": 0, **PLAIN}}]),
        ("tsampler", "fast, penalties 1.1 of 64", [{"tsampler": {"seed": 1}}]),
        (
            "tsampler",
            "parity, top_k 0",
            [{"tsampler": {"seed": 1, "top_k": 0, "mode": "parity", **PLAIN}}],
        ),
        ("tsampler", "top-k 40 alone", [{"tsampler_top_k": {"k": 40}}]),
        (
            "llama.cpp",
            "top_k 40, top_p, min_p, temp, dist",
            [{"top_k": {"k": 40}}, *default, {"dist": {"seed": 1}}],
        ),
        ("llama.cpp", "top_p, min_p, temp, dist", [*default, {"dist": {"seed": 1}}]),
    ]
    sizes = (32_000, 65_536, 128_256, 262_144)
    print(f"  {'':<50}" + "".join(f"V = {n:<9,}" for n in sizes))
    for backend, name, chain in chains:
        process = registry.start(backend)
        row = []
        try:
            for n in sizes:
                logits = FAMILIES["zipf"](np.random.default_rng(1), n).astype(np.float32)
                setting = client.Setting(complete(chain, n), n, history=list(range(64)))
                row.append(np.median(client.time(process, setting, logits, 60).ns[30:]) / 1e6)
        finally:
            process.close()
        print(f"  {backend + ': ' + name:<50}" + "".join(f"{ms:<13.3f}" for ms in row))


def memory() -> None:
    """Measure the memory of our TypeScript, V = 65,536."""
    api = engines_folder() / "tsampler" / "dist" / "api" / "index.js"
    # A young generation so large that nothing is collected between the two readings.
    command = ["node", "--expose-gc", "--max-semi-space-size=512", "--min-semi-space-size=512"]
    script = Path(__file__).parent / "javascript" / "allocations.mjs"
    done = subprocess.run(
        [*command, str(script), api.as_uri()], capture_output=True, encoding="utf-8", check=True
    )
    results = json.loads(done.stdout)
    for repeat, size in results["perToken"].items():
        print(f"  JavaScript heap per token after 500, penalty {repeat}: {size:,.0f} bytes")
    for slots in results["slots"]:
        print(f"  workspace of {slots:,} slots: {24 * slots:,} bytes")


SECTIONS: dict[str, Callable[[], None]] = {
    "modes": modes,
    "llama_cpp": llama_cpp,
    "temperature": temperature,
    "arithmetic": arithmetic,
    "penalties": penalties,
    "hugging_face": hugging_face,
    "times": times,
    "memory": memory,
}

if __name__ == "__main__":
    main(__doc__, SECTIONS)
