"""mlx_sampler: numbers of mlx-lm 0.32.2 with mlx 0.32.4."""

import numpy as np

from sampler_parity.engines.mlx_lm.model.arithmetic import exp
from sampler_parity.engines.mlx_lm.model.keys import Keys
from tests.support.applied import applied

LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]


# Recorded: mx.random.seed(42), then uniform(0, 1, (3,)), and the key that is left.
def test_uniforms_and_the_key_behind_them_are_those_of_mlx() -> None:
    keys = Keys(42)
    recorded = [0.2851702570915222, 0.6119449138641357, 0.17565257847309113]
    assert keys.uniforms(3).tolist() == recorded
    assert keys.key == (2465931498, 3679230171)


def test_exp_is_that_of_mlx() -> None:
    recorded = [0.3678794503211975, 1.6487213373184204, 2.061153470123145e-09, 0.0]
    assert exp(np.array([-1.0, 0.5, -20.0, -90.0], np.float32)).tolist() == recorded


def test_log_probabilities_are_those_of_mlx() -> None:
    cand = applied("mlx_sampler", {"seed": 7, "temp": 1.0}, LOGITS)
    assert cand.logits[:2].tolist() == [-1.2820408344268799, -5.282040596008301]
