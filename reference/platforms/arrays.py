"""The arrays that sorts work on: keys, and the position that each key had before."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Order: TypeAlias = NDArray[np.int32]
