"""The logits that a server samples from, as the same build of llama.cpp gives them here.

The prompt is one batch; then comes token by token.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.llama_cpp.decode import Context, Model
from sampler_parity.harness.backends.llama_cpp.libllama import Libllama, default_folder
from sampler_parity.reference.chronology import NEWEST

_SEQUENCE = 0


class Logits:
    """One text at a time. folder: of a build; None: the one that is installed with us.

    Raises InputError for a build that cannot be loaded, or a model that it refuses.
    """

    def __init__(
        self, model: Path, tokens: int, folder: Path | None = None, release: str = NEWEST
    ) -> None:
        self.model = Model(Libllama(folder or default_folder(), release), model)
        self.context = Context(self.model, tokens)

    def begin(self, prompt: Sequence[int]) -> NDArray[np.float32]:
        self.context.remove_sequence(_SEQUENCE)
        self.context.length = 0
        return self.context.decode(list(prompt))

    def after(self, token: int) -> NDArray[np.float32]:
        return self.context.decode([token])

    def close(self) -> None:
        self.context.close()
