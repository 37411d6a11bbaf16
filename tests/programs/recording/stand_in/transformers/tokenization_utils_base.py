"""A tokenizer of 3,000 words."""

from typing import Any


class PreTrainedTokenizerBase:
    eos_token_id = 2

    @classmethod
    def from_pretrained(cls, *_: Any) -> Any:
        return cls()

    def __len__(self) -> int:
        return 3000

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"\u2581w{token}" for token in ids]
