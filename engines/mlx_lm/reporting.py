"""The log-probabilities that MLX LM's generate_step yields with a token: those of the whole row."""

from typing import Any

from sampler_parity.engines.mlx_lm.arguments import processors_of, sampler_of
from sampler_parity.engines.mlx_lm.engine import generation, libraries
from sampler_parity.engines.shared.reported import most_likely
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec

MODES = ("generate_step",)


def report(
    chain: ChainSpec, logits: Any, tokens: list[int], seed: int, top: int
) -> tuple[int, Result]:
    """Generate one token of a model with these logits, [1, n_vocab], and list what comes with it.
    Without filters, temperature and draw in the chain the token is the greedy one."""
    mx, mlx = libraries()
    processors: list[Any] = []
    sampler: dict[str, Any] = {}
    for stage in chain:
        for name, given in stage.items():
            if name in ("penalties", "logit_bias", "mlx_penalties"):
                processors += mlx.make_logits_processors(**processors_of(name, given))
            elif name == "temp":
                sampler["temp"] = given["temp"]
            elif name == "dist":
                sampler.setdefault("temp", 1.0)
            elif name != "greedy":
                sampler = sampler_of(name, given) | sampler
    mx.random.seed(seed)
    step = generation().generate_step(
        mx.array(tokens or [0]),
        lambda given, cache: mx.broadcast_to(logits[:, None], (1, given.shape[1], logits.shape[1])),
        max_tokens=1,
        sampler=mlx.make_sampler(**sampler) if sampler else None,
        logits_processors=processors,
        prompt_cache=[],
    )
    token, logprobs = next(step)
    return int(token), most_likely(logprobs, int(token), top)
