"""MLX LM's samplers, as `generate_step` applies them to one row.

    logit_bias, mlx_penalties, mlx_sampler

is their order: logits processors first, then log-probabilities, then make_sampler's top_p, min_p,
xtc and top_k, each on the survivors of the one before, and the temperature in the draw.
Source: mlx_lm/sample_utils.py and mlx_lm/generate.py at 0.32.2; MLX 0.32.4 on an x86-64 CPU.
Suite: suites/mlx_lm
"""

from sampler_parity.engines.mlx_lm.model.penalties import MlxPenalties
from sampler_parity.engines.mlx_lm.model.sampler import MlxSampler

STAGES = {
    "mlx_penalties": MlxPenalties,
    "mlx_sampler": MlxSampler,
}
