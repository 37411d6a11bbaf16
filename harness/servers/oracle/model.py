"""The model of a server, where we have it, too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sampler_parity.harness.servers.client import Prompt
from sampler_parity.harness.servers.oracle.decoder import Logits
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class Known:
    """prompts: by name, those that it is asked with. logits: starts what decodes it. spelled:
    prompts are sent as text; begins: and the server puts the token in front that begins one.
    rounding: how far the logprobs of another engine may be off those of `logits`."""

    vocab: Vocab
    prompts: Mapping[str, list[int]]
    logits: Callable[[], Logits]
    spelled: bool = False
    begins: bool = True
    rounding: float = 0.0

    @cached_property
    def by_text(self) -> dict[str, list[int]]:
        """The tokens that a text may be: servers replace what is no UTF-8 or leave it out, and some
        leave out special tokens."""
        ids: dict[str, list[int]] = {}
        for token, piece in enumerate(self.vocab.pieces):
            plain = self.vocab.piece(token, special=False).decode(errors="ignore")
            for text in {piece.decode(errors="replace"), piece.decode(errors="ignore"), plain}:
                ids.setdefault(text, []).append(token)
        return ids

    def sent(self, prompt: list[int]) -> Prompt:
        """A prompt as it is sent."""
        if not self.spelled:
            return prompt
        pieces = b"".join(self.vocab.piece(token, special=False) for token in prompt)
        return pieces.decode(errors="ignore")

    def read(self, prompt: list[int]) -> list[int]:
        """The tokens that the server makes of it."""
        text = self.sent(prompt)
        if not isinstance(text, str):
            return text
        return [*prompt[: self.begins], *self.vocab.tokenize(text.encode())]
