"""Faults of node-llama-cpp; node_llama_cpp.mjs plants them in the package."""

from sampler_parity.harness.faults.engine_faults import Fault

FAULTS = [
    Fault(f"node_llama_cpp/{name}", fault, case=f"node_llama_cpp/{case}", stage="node_llama_cpp")
    for name, fault, case in [
        ("min_p-left-out", "min-p has no effect.", "temperature-last"),
        ("another-seed", "The seed is one more.", "state"),
        ("draws-by-default", "Temperature 0 is taken for 1 and draws.", "greedy-ties"),
        ("punishes-nothing", "No token of the text is penalized.", "greedy-with-penalties"),
    ]
]
