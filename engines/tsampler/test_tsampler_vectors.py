"""llama.cpp's own test vectors on tsampler:

"20/20 of llama.cpp's test cases".

tsampler has the samplers of 30 of the 41 vectors of tests/test-sampling.cpp
(suites/parity/llama_cpp_tests.toml). They run on its filters in order; the survivors are
normalized, as its draw does. Candidates that llama.cpp masks and tsampler removes count as
probability 0. Each vector runs twice: on the logits of llama.cpp's test, logf of float32
probabilities, and on those that JavaScript makes, the float32 of a double logarithm.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends.registry import start
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.logits import Literals
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates

HAS = {"temp", "top_k", "top_p", "min_p", "typical_p", "penalties", "top_n_sigma"}
(SUITE,) = find_suites(["parity/llama_cpp_tests"])
VECTORS = [
    case
    for case in expand(SUITE, "full")
    if case.expect and case.expect.probs and set(case.samplers) <= {*HAS, "dist"}
]
# With llama.cpp's logits 0.4 + 0.3 is 0.699999988 in float32 probabilities: below the double 0.7,
# not below llama.cpp's float32 0.7.
BELOW_HERE = ("llama_cpp_tests/top_p-0_7", "llama.cpp")
SORTED_THERE = "llama_cpp_tests/top_k-4"  # the documentation's order of ids is not llama.cpp's
GREEDY_HERE = "llama_cpp_tests/temp-0"  # temperature 0 is sampleWithStrategy's greedy path


def as_tsampler(case: StagesCase) -> StagesCase:
    chain = [
        {f"tsampler_{name}": {k: v for k, v in parameters.items() if k != "min_keep"}}
        for stage in case.chain
        for name, parameters in stage.items()
        if name != "dist"
    ]
    if "penalties" in case.samplers:
        chain.append({"tsampler_top_k": {"k": 0}})
    return case.model_copy(update={"chain": chain, "expect": None})


def distribution(case: StagesCase, logits: str) -> list[float]:
    chain = build_chain(case.chain)
    for token in case.history:
        chain.accept(token)
    cand = Candidates.from_logits(row(case, logits))
    chain.apply(cand)
    p: list[float] = cand.p.tolist()
    return p


def row(case: StagesCase, logits: str) -> NDArray[np.float32]:
    assert isinstance(case.logits, Literals)
    if logits == "llama.cpp" or not case.logits.probs:
        return case.logits.row(0)
    logarithms: NDArray[np.float32] = np.log(np.array(case.logits.probs)).astype(np.float32)
    return logarithms


def test_there_are_thirty_vectors_for_tsampler() -> None:
    assert len(VECTORS) == 30


@pytest.mark.parametrize("logits", ["llama.cpp", "JavaScript"])
@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case.id.partition("/")[2])
def test_vector_is_met(case: StagesCase, logits: str) -> None:
    assert case.expect is not None
    assert case.expect.probs is not None
    if case.id == GREEDY_HERE:
        cand = Candidates.from_logits(row(case, logits))
        build_chain([{"tsampler": {"seed": 1, "temp": 0.0}}]).apply(cand)
        assert case.expect.probs[cand.token or 0] == 1.0
        return
    wanted = [p for p in case.expect.probs if p > 1e-5]
    left = distribution(as_tsampler(case), logits)
    mass = sum(left) if case.samplers[-1] == "dist" else 1.0  # typical_p's vectors draw nothing
    got = [p / mass for p in left if p > 1e-5]
    if (case.id, logits) == BELOW_HERE:
        assert got == pytest.approx([4 / 9, 3 / 9, 2 / 9], abs=1e-5), "a third token is kept"
        return
    if case.id == SORTED_THERE:
        assert got != pytest.approx(wanted, abs=1e-5)
        got = got[::-1]
    assert got == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
def test_typescript_agrees_on_every_vector() -> None:
    backend = start("tsampler")
    try:
        verdicts = {
            case.id: execute(as_tsampler(case), [backend]).backends["tsampler"].verdict
            for case in VECTORS
            if case.id != GREEDY_HERE
        }
    finally:
        backend.close()
    assert set(verdicts.values()) == {"identical"}
    assert len(verdicts) == 29
