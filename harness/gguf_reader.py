"""Reading GGUF files that may be damaged."""

from typing import Any

import gguf
import numpy as np


class BoundedReader(gguf.GGUFReader):  # type: ignore[misc]
    """Stops at the end of the file; the package's own reader loops on a damaged length."""

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> Any:
        if int(offset) + np.dtype(dtype).itemsize * int(count) > len(self.data):
            raise ValueError("it ends in the middle of a value")
        return super()._get(offset, dtype, count, override_order)
