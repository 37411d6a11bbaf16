"""The sampler of vLLM's second model runner: its Triton kernels, run by Triton's interpreter."""
