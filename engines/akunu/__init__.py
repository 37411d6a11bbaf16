"""Akunu's engine: its CPU pipeline and its Gumbel-max path, on NumPy and as a WebGPU shader."""
