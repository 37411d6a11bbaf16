"""The arithmetic of correct/bfloat16 and correct/float16: logits and sums in float32, p in 16 bits.

log p comes from the float32 logits. A p that 16 bits round to 0 then keeps its surprise.
"""

from sampler_parity.engines.correct.log_sum_exp import LogSumExp
from sampler_parity.engines.correct.ops import Array, Ops
from sampler_parity.harness.protocol.arithmetic import Arithmetic, Dtype, rounded


class Halves(LogSumExp):
    """dtype: bfloat16 or float16."""

    dtype: Dtype
    softmax, weights = Ops.softmax, Ops.weights

    def narrowed(self, p: Array) -> Array:
        return rounded(p, self.dtype)


class BFloat16(Halves):
    dtype: Dtype = "bfloat16"
    arithmetic = Arithmetic(probabilities="bfloat16", summation="sequential", stable_sort=True)


class Float16(Halves):
    dtype: Dtype = "float16"
    arithmetic = Arithmetic(probabilities="float16", summation="sequential", stable_sort=True)
