"""akunu/cuda: the Gumbel-max path on an NVIDIA GPU, through CuPy (the extra `cuda`)."""

import importlib

from sampler_parity.engines.akunu import gumbel
from sampler_parity.harness.errors import Unsupported


class Worker(gumbel.Worker):
    name = "akunu/cuda"
    device = "cuda"

    def arrays(self) -> gumbel.Arrays:
        """Return CuPy's arrays. Raises Unsupported if it is not installed or finds no device."""
        try:
            cupy = importlib.import_module("cupy")
            devices = cupy.cuda.runtime.getDeviceCount()
        except ImportError:
            raise Unsupported("CuPy is not installed: pip install sampler-parity[cuda]") from None
        except Exception as error:  # CuPy's own classes, unknown where it is not installed
            raise Unsupported(f"CuPy finds no CUDA device: {error}") from None
        if not devices:
            raise Unsupported("CuPy finds no CUDA device")
        return gumbel.Arrays(cupy, cupy.exp, cupy.log, cupy.asnumpy)
