"""The model of a server, if it is available here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial

from sampler_parity.harness.protocol.client import Row
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import NotComputed, Observation, observe
from sampler_parity.programs.servers.oracle.decoder import ModelLogits
from sampler_parity.programs.servers.server_record import Group, ServerResult
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class KnownModel:
    """A server's model, and the form in which the server takes prompts.

    prompts: by name. logits: starts the process that decodes the model. text_prompts: they are sent
    as text. adds_bos: the server puts the token that begins a text in front of one. rounding: how
    far the logprobs of another engine may differ from those of `logits`.
    """

    vocab: Vocab
    prompts: Mapping[str, list[int]]
    logits: Callable[[], ModelLogits]
    text_prompts: bool = False
    adds_bos: bool = True
    rounding: float = 0.0

    @cached_property
    def tokens_by_text(self) -> dict[str, list[int]]:
        """Return the tokens that a text may be. Servers replace or leave out invalid UTF-8, and
        some leave out special tokens."""
        ids: dict[str, list[int]] = {}
        for token, piece in enumerate(self.vocab.pieces):
            plain = self.vocab.piece(token, special=False).decode(errors="ignore")
            for text in {piece.decode(errors="replace"), piece.decode(errors="ignore"), plain}:
                ids.setdefault(text, []).append(token)
        return ids

    def prompt_as_sent(self, prompt: list[int]) -> str | list[int]:
        """Return a prompt in the form that the server takes."""
        if not self.text_prompts:
            return prompt
        pieces = b"".join(self.vocab.piece(token, special=False) for token in prompt)
        return pieces.decode(errors="ignore")

    def prompt_as_read(self, prompt: list[int]) -> list[int]:
        """Return the tokens that the server makes of a prompt."""
        text = self.prompt_as_sent(prompt)
        if not isinstance(text, str):
            return text
        return [*prompt[: self.adds_bos], *self.vocab.tokenize(text.encode())]


# The difference of a logprob between two engines on the golden model's float16 weights: twice the
# largest of 240 of MLX LM 0.32.2, 0.0019. Among 1,331 of it and of vLLM the largest was 0.0024.
ROUNDING = 0.004

ModelTest = Callable[["DecodedModel", Client], Observation]


@dataclass(frozen=True)
class DecodedModel:
    """A known model and the running process that decodes it."""

    known: KnownModel
    logits: ModelLogits

    def rows(self, prompt: Sequence[int], tokens: Sequence[int], answer: Answer) -> Row:
        """Return the logits that an answer's tokens were drawn from. Raises NotComputed."""
        try:
            return self.logits.rows(prompt, tokens)
        except BackendFailure as failure:
            raise NotComputed(str(failure), answer) from None


def observe_with(
    known_model: KnownModel, group: Group, tests: Mapping[str, ModelTest], client: Client
) -> Iterator[ServerResult]:
    """Run tests that compare with a model's logits. Raises InputError if nothing decodes the
    model."""
    with closing(known_model.logits()) as logits:
        model = DecodedModel(known_model, logits)
        yield from observe(group, {n: partial(test, model) for n, test in tests.items()}, client)
