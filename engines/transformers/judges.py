"""The judge of the repetition penalty, which transformers_js computes in double."""

import numpy as np

from sampler_parity.harness.correct.stage import Stage


def repetition_penalty(stage: Stage) -> None:
    """Require the quotient or the product to be rounded once, of each token that was penalized."""
    stage.all_but_logits()
    tokens = sorted(set(stage.sampler.past.text[stage.sampler.prompt_ignore_length :]))
    seen = [token for token in tokens if token < len(stage.before.ids)]
    if stage.hull("penalty") == (1, 1):
        seen = []
    old = stage.interval(stage.before.low[seen], stage.before.high[seen])
    penalty, negative = stage.parameter("penalty"), stage.before.logits[seen] < 0
    product, quotient = old * penalty, old / penalty
    bounds = stage.interval(stage.before.low.copy(), stage.before.high.copy())
    bounds.low[seen] = np.where(negative, product.low, quotient.low)
    bounds.high[seen] = np.where(negative, product.high, quotient.high)
    stage.logits_within(bounds)


JUDGES = {"transformers_repetition_penalty": repetition_penalty}
