"""The candidates of one step: llama.cpp's `llama_token_data_array`."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.compiled import jit
from sampler_parity.reference.errors import UndefinedInputError

_IN_PLACE_PARTIAL_SORT = 128  # llama_token_data_array_partial_sort_inplace: beyond, it uses buckets


@dataclass(slots=True)
class Candidates:
    """n tokens that may still be chosen; samplers change it in place.

    ids: int32[n], distinct. logits and p: float32[n] (or both float64, for the ideal result).
    Samplers may write into these arrays: copy data that must outlive one.
    sorted: logits are known to be in descending order. selected: index into the arrays, or -1.
    """

    ids: NDArray[np.int32]
    logits: NDArray[Any]
    p: NDArray[Any]
    sorted: bool = False
    selected: int = -1

    @classmethod
    def from_logits(cls, logits: ArrayLike, dtype: DTypeLike = np.float32) -> Self:
        """Create candidates for all tokens of a vocabulary, id = position, p = 0; logits are
        copied.

        Raises ValueError if logits is not one-dimensional.
        """
        values = np.array(logits, dtype=dtype)
        if values.ndim != 1:
            raise ValueError(f"logits must have one dimension, got shape {values.shape}")
        return cls(np.arange(len(values), dtype=np.int32), values, np.zeros(len(values), dtype))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def token(self) -> int | None:
        """The selected token id; None if nothing was selected."""
        if self.selected < 0:
            return None
        if self.selected >= len(self):
            if len(self) == 0:
                raise UndefinedInputError("a token was selected from no candidates")
            raise UndefinedInputError(
                f"candidate {self.selected + 1:,} was drawn, and a later stage left {len(self):,} "
                "(llama.cpp aborts): put the stage that draws last"
            )
        return int(self.ids[self.selected])

    def copy(self) -> Self:
        return type(self)(
            self.ids.copy(), self.logits.copy(), self.p.copy(), self.sorted, self.selected
        )

    def keep(self, which: slice | NDArray[Any]) -> None:
        """Keep only these positions, in the order given."""
        if isinstance(which, slice):
            self.ids, self.logits, self.p = self.ids[which], self.logits[which], self.p[which]
            return
        rows = np.flatnonzero(which) if which.dtype == bool else which
        self.ids, self.logits = self.ids.take(rows), self.logits.take(rows)
        self.p = self.p.take(rows)

    def positions(self, tokens: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of each of these tokens; -1 for a token that is no candidate.

        tokens: integers, ascending.
        """
        return _positions(self.ids, tokens)  # type: ignore[no-any-return]

    def among(self, tokens: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which candidates are among these tokens: integers, ascending."""
        return _among(self.ids, tokens)  # type: ignore[no-any-return]

    def refuse_nan(self) -> None:
        """Raise UndefinedInputError where sorting would meet a NaN."""
        if len(self) > 1 and floats.has_nan(self.logits):
            token = self.ids[np.isnan(self.logits).argmax()]
            raise UndefinedInputError(
                f"logit of token {token} is NaN: sorting it is undefined in llama.cpp"
            )

    def order_of_largest(self, n: int) -> NDArray[np.int32]:
        """Return the positions of the n largest logits, in the order of llama.cpp's bucket sort."""
        self.refuse_nan()
        return sorting.bucket_sort(self.logits, n, self.ids)

    def partial_sort(self, n: int) -> None:
        """Keep the n largest logits, in descending order, as
        `llama_token_data_array_partial_sort_inplace`; 0 <= n <= len(self)."""
        if n <= _IN_PLACE_PARTIAL_SORT:
            self.refuse_nan()
            self.keep(sorting.std_partial_sort(self.logits, n, self.ids))
        else:
            self.keep(self.order_of_largest(n))
        self.sorted = True

    def max_logit(self) -> Any:
        """Return the largest logit: the first one if the candidates are known to be sorted."""
        return self.logits[0] if self.sorted else floats.largest(self.logits)

    def softmax(self, sort: bool) -> None:
        """Set p = exp(logit - max) / sum, as `llama_sampler_softmax_impl`; sort first if asked to.
        All logits -inf give NaN everywhere. Raises UndefinedInputError without candidates."""
        if len(self) == 0:
            raise UndefinedInputError("softmax of no candidates (llama.cpp aborts)")
        if sort and not self.sorted:
            self.partial_sort(len(self))
        self.p = floats.softmax(self.logits, self.max_logit())

    def weights(self) -> NDArray[Any]:
        """Return exp(logit - max): p before the division by the sum."""
        return floats.exp_of_difference(self.logits, self.max_logit())


@jit
def _positions(ids: NDArray[np.int32], tokens: NDArray[Any]) -> NDArray[np.intp]:
    result = np.full(len(tokens), -1, np.intp)
    elsewhere = False
    for j in range(len(tokens)):
        token = tokens[j]
        if 0 <= token < len(ids) and ids[token] == token:  # as in a whole vocabulary
            result[j] = token
        else:
            elsewhere = True
    if elsewhere:
        for i in range(len(ids)):
            j = np.searchsorted(tokens, ids[i])
            if j < len(tokens) and tokens[j] == ids[i]:
                result[j] = i
    return result


@jit
def _among(ids: NDArray[np.int32], tokens: NDArray[Any]) -> NDArray[np.bool_]:
    result = np.empty(len(ids), np.bool_)
    for i in range(len(ids)):
        j = np.searchsorted(tokens, ids[i])
        result[i] = j < len(tokens) and tokens[j] == ids[i]
    return result
