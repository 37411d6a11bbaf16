import sys

from harness.process import BackendProcess
from harness.suite_timing import TimedChain
from harness.timing import REPETITIONS, read_timings, time_chain
from reference import SAMPLERS

# two are gone, and masking by a vocabulary is timed by trie-bench on one of that size
NOT_TIMED = {"softmax", "tail_free", "grammar", "grammar_lazy_patterns"}


def test_timing_suite_covers_every_sampler_at_131072() -> None:
    timed = {t.sampler for t in read_timings() if t.logits.n == 131072}
    assert timed == set(SAMPLERS) - NOT_TIMED


def test_timing_keeps_every_sample_but_the_warm_up() -> None:
    backends = [
        BackendProcess(name, [sys.executable, "-m", "harness.worker", name])
        for name in ("reference", "null")
    ]
    chain = TimedChain(
        id="t",
        sampler="top_k",
        chain=[{"top_k": {"k": 5}}],
        logits={"family": "normal", "n": 5000, "seed": 1},  # type: ignore[arg-type]
    )
    try:
        result = time_chain(chain, backends, rounds=4, seed=1)
    finally:
        for backend in backends:
            backend.close()
    assert {name: len(ns) for name, ns in result.ns.items()} == {
        "reference": 4 * REPETITIONS,
        "null": 4 * REPETITIONS,
    }
    assert min(result.ns["reference"]) > 0
