"""The instance of an engine whose sampler is one function of torch that draws a token.

An instance has a state of torch's generator of its own. It has no history.
"""

from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.stage_parameters import no_uniforms
from sampler_parity.engines.shared.whole_chains import Row
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.messages import ChainSpec


class TorchSample:
    """An engine defines library and tokens. seed: of the draws."""

    engine = ""

    def __init__(self, chain: ChainSpec, seed: int) -> None:
        self.chain, self.seed = chain, seed
        self.reset()

    def library(self) -> SimpleNamespace:
        """Return the engine's modules, with torch."""
        raise NotImplementedError

    def tokens(self, logits: Any, n: int) -> list[int]:
        """Draw n tokens. logits: a tensor [1, n_vocab]."""
        raise NotImplementedError

    def reset(self) -> None:
        self.state = self.library().torch.Generator().manual_seed(self.seed).get_state()

    def accept(self, token: int) -> None:
        """Do nothing: the sampler has no history."""

    def clone(self) -> Self:
        twin = type(self)(self.chain)  # type: ignore[call-arg]
        twin.state = self.state.clone()
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, self.engine)
        torch = self.library().torch
        logits = torch.tensor(row.logits)[None]
        torch.set_rng_state(self.state)
        try:
            tokens = self.tokens(logits, n)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise InputError(self.engine, (str(error).splitlines() or [""])[0]) from None
        self.state = torch.get_rng_state()
        return np.array(tokens, np.int32)
