"""MLX LM alone: where a token stands decides whether it is drawn; what a batch shares; a window of
0; a temperature below 0. Prints what should come out and what does.

    sampler-parity engines exec mlx_lm -- python studies/findings/finding_47_draws.py
"""

import importlib.util
import math
import sys
from types import ModuleType
from typing import Any

package = ModuleType("mlx_lm")  # its own __init__ loads transformers
spec = importlib.util.find_spec("mlx_lm")
package.__path__ = list(spec.submodule_search_locations or []) if spec else []
sys.modules["mlx_lm"] = package
mx: Any = importlib.import_module("mlx.core")
mlx: Any = importlib.import_module("mlx_lm.sample_utils")
mx.disable_compile()  # no bit changes, and no C++ compiler runs


def tail(likely: int, n: int = 131_072, draws: int = 3_000) -> int:
    """Of one likely token and the others 16.7 nats below, how many of the draws are others."""
    logits = mx.where(mx.arange(n) == likely, 16.7, 0.0)[None]
    logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    sampler = mlx.make_sampler(temp=1.0)
    mx.random.seed(1)
    return sum(sampler(logprobs).item() != likely for _ in range(draws))


def alike(rows: int = 8, steps: int = 200) -> int:
    """Of steps with XTC at probability 1/2, at how many it acts on all rows or on none."""
    acts = mlx.make_sampler(temp=1e-4, xtc_probability=0.5, xtc_threshold=0.1)
    logprobs = mx.log(mx.array([[0.8, 0.2]] * rows))  # greedy: token 1 where it acts, else token 0
    mx.random.seed(1)
    return sum(len(set(acts(logprobs).tolist())) == 1 for _ in range(steps))


def main() -> int:
    weight = math.exp(-16.7)
    expected = 3_000 * 131_071 * weight / (1 + 131_071 * weight)
    print("131,071 unlikely tokens, 3,000 draws, how many are of them")
    print(f"  expected {expected:.1f}")
    last, first = tail(131_071), tail(0)
    print(f"  got      {last} with the likely token last, {first} with it first")

    alone, batch = mx.random.normal((1, 50), key=mx.random.key(3)), []
    for rows in (1, 2, 3):
        mx.random.seed(4)
        batch.append(mlx.make_sampler(temp=1.0)(mx.repeat(alone, rows, axis=0)).tolist()[0])
    print("seed 4, one row alone and as the first of 2 and of 3 equal rows: its token")
    print(f"  expected {[batch[0]] * 3}")
    print(f"  got      {batch}")

    print("XTC with probability 1/2 on a batch of 8 rows, 200 steps: all rows act, or none")
    print(f"  expected {200 * 2 / 2**8:.1f} steps, rows apart")
    together = alike()
    print(f"  got      {together} steps: one coin for all")

    print("repetition penalty 2 with a context size of 0 on logits 4, 3 behind token 0")
    (processor,) = mlx.make_logits_processors(repetition_penalty=2.0, repetition_context_size=0)
    print("  expected [4.0, 3.0]")
    logits = processor(mx.array([0]), mx.array([[4.0, 3.0]]))[0].tolist()
    print(f"  got      {logits}")

    print("temperature -1 with top_k 1 on probabilities 0.9, 0.1, eight tokens")
    logprobs = mx.log(mx.array([[0.9, 0.1]]))
    sampler = mlx.make_sampler(temp=-1.0, top_k=1)
    print("  expected a refusal, or token 0, which alone is left")
    drawn = [sampler(logprobs).item() for _ in range(8)]
    print(f"  got      {drawn}")
    differ = first == 0 or len(set(batch)) > 1 or together > 20 or logits != [4.0, 3.0]
    return int(differ or any(drawn))


if __name__ == "__main__":
    sys.exit(main())
