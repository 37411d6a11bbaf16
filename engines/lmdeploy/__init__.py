"""lmdeploy's sampler, its Triton kernels in the interpreter (README.md)."""
