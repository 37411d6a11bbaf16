"""The arithmetic that a backend states in its greeting; the bounds of `--accept correct` follow."""

from typing import Literal

from pydantic import Field

from sampler_parity.harness.strict import Strict

Format = Literal["float64", "float32", "bfloat16", "float16", "tf32"]
Summation = Literal["sequential", "pairwise", "blocked", "compensated", "unknown"]

# Bits of the significand, the hidden one included (IEEE 754-2019, table 3.5; NVIDIA's for TF32).
SIGNIFICAND: dict[Format, int] = {
    "float64": 53, "float32": 24, "bfloat16": 8, "float16": 11, "tf32": 11,
}  # fmt: skip


class Arithmetic(Strict):
    """Describe formats, sums and functions of a backend. Without it: float32, sums in any order."""

    logits: Format = "float32"
    """format of the logits between the stages"""
    probabilities: Format = "float32"
    """format of the probabilities"""
    sums: Format = "float32"
    """format in which sums of probabilities are accumulated"""
    summation: Summation = "unknown"
    """order of the sums; `unknown` stands for any order"""
    exp_ulps: float = Field(default=4.0, ge=0.5, le=1024)
    """largest error of exp, log and powers, in ULPs of the format of the probabilities; below 1 an
    exact result is given exactly"""
    stable_sort: bool = False
    """whether equal logits keep the order of their ids"""
    flushes_subnormals: bool = False
    """whether operations may take and return 0 for numbers below the smallest normal one"""


# llama.cpp on glibc: sums in order; expf 0.51, logf 0.82, log2f 0.76, powf 0.82 ULP at most
# (glibc 2.28 and newer, sysdeps/ieee754/flt-32).
LLAMA_CPP = Arithmetic(summation="sequential", exp_ulps=0.9)
