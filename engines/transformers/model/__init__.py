"""The logits processors of Hugging Face transformers that know prompt or length.

    transformers_sequence_bias, transformers_repetition_penalty, transformers_no_bad_words,
    transformers_min_length, transformers_min_new_tokens

is the order in which `generate` applies them; temperature, top-k, top-p and min-p follow. There is
no frequency and no presence penalty, no list of allowed tokens (prefix_allowed_tokens_fn is a
function of the text so far) and no ignore_eos: generation stops at the tokens in eos_token_id.
Source: GenerationMixin._get_logits_processor, generation/utils.py of transformers 5.23.0.
Suite: engines/transformers/suites/origin/transformers.toml
"""

from sampler_parity.engines.transformers.model.min_length import TransformersMinLength
from sampler_parity.engines.transformers.model.min_new_tokens import TransformersMinNewTokens
from sampler_parity.engines.transformers.model.no_bad_words import TransformersNoBadWords
from sampler_parity.engines.transformers.model.repetition_penalty import (
    TransformersRepetitionPenalty,
)
from sampler_parity.engines.transformers.model.sequence_bias import TransformersSequenceBias

STAGES = {
    "transformers_min_length": TransformersMinLength,
    "transformers_min_new_tokens": TransformersMinNewTokens,
    "transformers_no_bad_words": TransformersNoBadWords,
    "transformers_repetition_penalty": TransformersRepetitionPenalty,
    "transformers_sequence_bias": TransformersSequenceBias,
}
