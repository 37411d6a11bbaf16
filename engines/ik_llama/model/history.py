"""ik_llama.cpp's samplers of a history: llama_sample_repetition_penalties and llama_sample_dry.

    repetition_penalties:  as llama.cpp's; the caller passes the last tokens, here those accepted,
                           at most penalty_last_n
    dry:                   as llama.cpp's before b10361, but it takes the vocabulary's size for the
                           context's: -1 looks back as many tokens, and none looks back farther.
                           Below -1 its buffer holds no token and the process ends; a clone, which
                           has no vocabulary, ends it, too

Source: src/llama-sampling.cpp and llama_sampler_init_dry, _dry_clone in src/llama.cpp of
ik_llama.cpp at 55d3c05.
Suite: engines/ik_llama/suites/ik_llama/ik_functions.toml
"""

from typing import Any

from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.older.dry_b9842 import DryB9842
from sampler_parity.reference.vocab import Vocab


class IkDry(DryB9842):
    name = "ik_llama_dry"

    def __init__(
        self,
        n_vocab: Any,
        dry_multiplier: Any,
        dry_base: Any = 1.75,
        dry_allowed_length: Any = 2,
        dry_penalty_last_n: Any = -1,
        seq_breakers: Any = (),
        vocab: Vocab | None = None,
    ) -> None:
        of_dry = (dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, seq_breakers)
        super().__init__(frozenset({"dry-context"}), *of_dry, vocab, n_vocab)

    def clone(self) -> "IkDry":
        raise UndefinedInputError("dry is cloned: ik_llama.cpp ends the process")
