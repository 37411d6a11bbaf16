"""A bundle of engines with results of properties."""

from pathlib import Path

from sampler_parity.harness.bundle.info import BackendInfo
from sampler_parity.harness.bundle.records import BackendResult, CaseResult
from sampler_parity.harness.suite.file import read_suite
from sampler_parity.harness.suite.ids import shipped
from tests.support.report_bundles import case, got, run_info, write_bundle

KEEPS_ALL = got(
    "diverged",
    step=0,
    stage="ties",
    what="drawn",
    values={"got": [1, 2, 3, 4], "expected": [1, 2], "survivors": {"got": 4, "expected": 2}},
)
ENGINES = ("llama.cpp", "transformers", "akunu/gumbel", "mine")


def of_ties(name: str, *results: BackendResult, **fields: object) -> CaseResult:
    """Return a case of properties/ties on as many of ENGINES as there are results."""
    backends = dict(zip(ENGINES, results, strict=False))
    return case(f"ties/{name}", backends, suite="properties/ties", **fields)


def properties_in(folder: Path) -> Path:
    """Write a bundle of four engines: one differs as required, one lacks top_k, one fails.

    A fifth engine is not installed.
    """
    required = {name: ["identical"] for name in ENGINES} | {"transformers": ["diverged"]}
    of_top_k = of_ties(
        *("top_k", got(), KEEPS_ALL, got("skipped", detail="no sampler top_k"), KEEPS_ALL),
        samplers=["top_k", "dist"],
        required=required,
    )
    of_argmax = of_ties("argmax", got(), got(), got(), got(), samplers=["greedy"])
    near = case(
        "top_p/near",
        {"mine": got("boundary", step=0, stage="top_p", values={"margin": 3.1e-7})},
        required={"mine": ["identical"]},
    )
    suites = {"properties/ties": read_suite(shipped()["properties/ties"]).sha256}
    info = run_info(*ENGINES, suites=suites)
    away = BackendInfo(command=["x"], unavailable="wgpu finds no adapter")
    info = info.model_copy(update={"backends": info.backends | {"akunu/webgpu": away}})
    return write_bundle(folder, info, [of_top_k, of_argmax, near])
