"""Run cases on sampler backends, compare them with the reference, record and gate."""
