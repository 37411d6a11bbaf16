"""The model of a server, where we have it, too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sampler_parity.harness.servers.logits import Logits
from sampler_parity.reference.vocab import Vocab


@dataclass(frozen=True)
class Known:
    """prompts: by name, those that it is asked with. logits: starts what decodes it. spelled:
    prompts are sent as text."""

    vocab: Vocab
    prompts: Mapping[str, list[int]]
    logits: Callable[[], Logits]
    spelled: bool = False
