"""dry up to b9842, the last with n_ctx_train.

Source: llama_sampler_init_dry, llama_sampler_dry_accept and _apply, src/llama-sampling.cpp, later
src/llama-sampler.cpp.
"""

from copy import copy
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.older.meanings import Old
from sampler_parity.reference.parameters import int32
from sampler_parity.reference.samplers.dry import MAX_BREAKER_BYTES, Dry
from sampler_parity.reference.vocab import Vocab


class DryB9842:
    """n_ctx_train: the context of the model, in tokens; the harness gives builds 4,096."""

    name = "dry"

    def __init__(
        self,
        old: Old,
        dry_multiplier: Any,
        dry_base: Any = 1.75,
        dry_allowed_length: Any = 2,
        dry_penalty_last_n: Any = 64,
        seq_breakers: Any = (),
        vocab: Vocab | None = None,
        n_ctx_train: Any = 4096,
    ) -> None:
        context = int32("n_ctx_train", n_ctx_train)
        last_n = int32("dry_penalty_last_n", dry_penalty_last_n)
        self.old = old
        self.today = Dry(
            dry_multiplier,
            dry_base,
            dry_allowed_length,
            self._window(last_n, context),
            seq_breakers,
            vocab,
        )
        on = self.today.dry_multiplier != 0 and self.today.dry_base >= 1 and last_n != 0
        self.no_room = on and last_n < -1 and "dry-context" in self.old
        if on and vocab is not None and vocab.kind == "bpe" and "dry-broken-character" in self.old:
            for breaker in seq_breakers:
                if isinstance(breaker, str):
                    _refuse_broken(breaker, vocab)

    def _window(self, last_n: int, context: int) -> int:
        if "dry-context" not in self.old:
            return last_n
        return context if last_n == -1 else min(last_n, context)

    def apply(self, cand: Candidates) -> None:
        self.today.apply(cand)

    def accept(self, token: int) -> None:
        if self.no_room:
            raise UndefinedInputError(
                "dry with dry_penalty_last_n below -1 takes no token: llama.cpp ends the process"
            )
        self.today.accept(token)

    def reset(self) -> None:
        self.today.reset()

    def clone(self) -> "DryB9842":
        if "dry-no-clone" in self.old:
            raise UndefinedInputError("dry is cloned: llama.cpp ends the process")
        twin = copy(self)
        twin.today = self.today.clone()
        return twin


def _refuse_broken(breaker: str, vocab: Vocab) -> None:
    """Refuse a breaker whose rest, after a token that ends with its beginning, is no UTF-8."""
    text = breaker.encode().split(b"\0")[0][:MAX_BREAKER_BYTES]
    for cut in range(1, len(text)):
        if _is_utf8(text[cut:]):
            continue
        if any(word.endswith(text[:cut]) and text not in word for word in vocab.detokenized):
            raise UndefinedInputError(
                f"dry breaker {breaker!r} is cut within a character: llama.cpp ends the process"
            )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
