"""The timing suites under pytest-benchmark, with its options and its JSON.

    pytest --pyargs sampler_parity.harness.timing.benchmarks --benchmark-only -p no:xdist \
        --benchmark-json=out.json

Backends in Python run in the process of pytest; adapters in other languages are timed by
`sampler-parity run timing`.
"""
