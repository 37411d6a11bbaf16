"""The logits of a model that MLX LM decodes, as its server does: the prompt without its last token,
then token by token. It samples nothing.
"""

import importlib
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import HelloReply, SequencesReply, SequencesRequest


class Worker:
    def __init__(self, folder: str) -> None:
        """Load a model. folder: of Hugging Face's layout."""
        self.mx = importlib.import_module("mlx.core")
        self.cache = importlib.import_module("mlx_lm.models.cache").make_prompt_cache
        self.model: Any = importlib.import_module("mlx_lm").load(folder)[0]

    def hello(self) -> HelloReply:
        return HelloReply(
            name="mlx_lm/logits",
            version=version("mlx-lm"),
            capabilities=["sequences"],
            samplers=[],
        )

    def sequences(
        self, request: SequencesRequest, rows: NDArray[np.float32]
    ) -> tuple[SequencesReply, list[Result]]:
        """Return the logits of one text, whose tokens are forced; the last is not decoded."""
        (text,) = request.texts
        cache = self.cache(self.model)
        if first := text.prompt[:-1]:
            self.model(self.mx.array([first]), cache=cache)
        for i, token in enumerate([text.prompt[-1], *text.forced[:-1]]):
            logits = self.model(self.mx.array([[token]]), cache=cache)[0, -1]
            rows[i] = np.array(logits.astype(self.mx.float32))
        return SequencesReply(tokens=text.forced, ns=0), []
