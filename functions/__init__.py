"""Python functions, judged in this process: what `from sampler_parity import check` gives."""
