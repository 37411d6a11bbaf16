"""correct/torch: float32 by torch on the CPU."""

import importlib
from typing import Any

import numpy as np

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.arithmetic import Arithmetic
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError


class Torch(Ops):
    """torch's exp and sums use the vector instructions of the CPU, in an order of their own."""

    arithmetic = Arithmetic(summation="unknown", stable_sort=True)

    def __init__(self) -> None:
        try:
            self.torch = importlib.import_module("torch")
        except ImportError as error:
            raise Unsupported(f"torch is not installed: {error}") from None
        self.torch.set_num_threads(1)

    def _on(self, function: Any, *values: Any, **options: Any) -> Any:
        tensors = [self.torch.from_numpy(np.array(x, np.float32)) for x in values]
        return function(*tensors, **options).numpy()[()]

    def exp(self, x: Array) -> Array:
        return self._on(self.torch.exp, x)  # type: ignore[no-any-return]

    def log(self, x: Any) -> Any:
        return self._on(self.torch.log, x)

    def log2(self, x: Any) -> Any:
        return self._on(self.torch.log2, x)

    def power(self, base: Any, exponent: Any) -> Any:
        return self._on(self.torch.pow, base, exponent)

    def running(self, x: Array) -> Array:
        return self._on(self.torch.cumsum, x, dim=-1)  # type: ignore[no-any-return]

    def total(self, x: Array) -> Any:
        return self._on(self.torch.sum, x)

    def softmax(self, logits: Array) -> Array:
        return self._on(self.torch.softmax, logits, dim=-1)  # type: ignore[no-any-return]

    def order(self, cand: Candidates) -> Array:
        if len(cand) > 1 and np.isnan(cand.logits).any():
            raise UndefinedInputError("a NaN logit cannot be sorted")
        by_id = np.argsort(cand.ids)
        logits = self.torch.from_numpy(cand.logits[by_id])
        order = self.torch.sort(logits, descending=True, stable=True).indices.numpy()
        return by_id[order]  # type: ignore[no-any-return]


class Worker(worker.Worker):
    name = "correct/torch"

    def __init__(self) -> None:
        super().__init__(Torch())

    def hello(self) -> HelloReply:
        build = f"torch {importlib.import_module('torch').__version__}"
        return super().hello().model_copy(update={"build": build})
