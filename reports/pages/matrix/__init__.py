"""Engine x property and engine x sampler: what someone choosing an engine reads first."""
