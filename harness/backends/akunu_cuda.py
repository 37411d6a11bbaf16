"""akunu/cuda: the Gumbel-max path on an NVIDIA GPU, through CuPy (the extra `cuda`)."""

import importlib

from harness.backends import akunu_gumbel
from harness.errors import Unsupported


class Worker(akunu_gumbel.Worker):
    name = "akunu/cuda"
    device = "cuda"

    def arrays(self) -> akunu_gumbel.Arrays:
        """CuPy's. Raises Unsupported where it is not installed or sees no device."""
        try:
            cupy = importlib.import_module("cupy")
            found = cupy.cuda.runtime.getDeviceCount()
        except ImportError:
            raise Unsupported("CuPy is not installed: pip install sampler-parity[cuda]") from None
        except Exception as error:  # CuPy's own classes, unknown where it is not installed
            raise Unsupported(f"CuPy finds no CUDA device: {error}") from None
        if not found:
            raise Unsupported("CuPy finds no CUDA device")
        return akunu_gumbel.Arrays(cupy, cupy.exp, cupy.log, cupy.asnumpy)
