"""Small bundles of predictions, and of a build that was asked the same, made of literals."""

from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import Apart, PartingResult, PredictionResult
from sampler_parity.harness.verdicts import Verdict
from tests.support.records import record
from tests.support.report_bundles import bundle_of, case, got, read_back, run_info

SORTED = "the order that libc++ leaves of equals"
DRAWN = "the draws of libc++"
FUSED = "a * b + c rounded once, by gcc"


def apart(sampler: str = "top_k", *operations: str, **fields: Any) -> Apart:
    """Return a difference: other survivors, and another token if one is drawn, by default."""
    fields = {"sampler": sampler, "operations": [*operations]} | fields
    return Apart.model_validate(record("apart", **{"tokens": None, "token": None} | fields))


def prediction(name: str, *samplers: str, suite: str = "parity/a", **on: Apart) -> PredictionResult:
    """Return a prediction for two platforms; `wasm` and `arm64`: where each differs."""
    names = {"wasm": "wasm", "arm64": "linux-arm64-gcc"}
    return PredictionResult(
        id=name,
        suite=suite,
        samplers=[*samplers],
        draws="dist" in samplers,
        platforms=[*names.values()],
        apart={names[key]: value for key, value in on.items()},
    )


def predicted_in(folder: Path) -> Bundle:
    """Write seven cases.

    On wasm two differ at top_k, and one of two texts; on arm64 one at penalties.
    """
    turned = apart("top_k", SORTED, tokens=False, token=17, step=3)
    fused = apart(
        "penalties", FUSED, order=True, survivors=True, what="logits", here="0.1", there="0.2"
    )
    records = [
        prediction("a/alike", "top_k", "dist"),
        prediction("a/tie", "top_k", wasm=apart("top_k", SORTED)),
        prediction("a/large", "top_k", wasm=apart("top_k", SORTED, here="many", there="others")),
        prediction("a/fused", "penalties", arm64=fused),
        prediction("a/steady", "greedy"),
        prediction("b/one", "top_k", "dist", suite="texts/golden", wasm=turned),
        prediction("b/two", "top_k", "dist", suite="texts/golden"),
        PartingResult(
            id="a/tie on wasm",
            case="a/tie",
            sampler="top_k",
            operations=[SORTED],
            smaller={"chain": [{"top_k": {"k": 1}}], "logits": {"rows": [[2.0, 2.0, 2.0]]}},
            platforms={"wasm": apart("top_k", SORTED)},
        ),
    ]
    return read_back(folder, run_info("reference"), [], records)


def of_a_build(
    folder: Path, reference: str = "v0.5.0/wasm", verdict: Verdict = "identical"
) -> Bundle:
    """Write llama.cpp@wasm on two cases through top_k: the first has this verdict."""
    name = "llama.cpp@wasm"
    info = run_info(name)
    about = info.backends[name].model_copy(update={"reference": reference, "build": "emcc 3"})
    cases = [
        case("a/tie", {name: got(verdict, stage="top_k")}, samplers=["top_k"]),
        case("a/alike", {name: got()}, samplers=["top_k", "dist"]),
    ]
    return bundle_of(folder, info.model_copy(update={"backends": {name: about}}), cases)
