"""harness/checks/timing/run.py: interleaved rounds on real processes, and planted faults."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from sampler_parity.harness.backends import registry
from sampler_parity.harness.checks.timing import rounds
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.rounds import RoundPlan
from sampler_parity.harness.checks.timing.run import REPETITIONS, time_chain
from sampler_parity.harness.checks.timing.slopes import slopes
from sampler_parity.harness.checks.timing.verdict import compare_backends
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.timings import read_timings, rule_chains

# two are gone, and masking by a vocabulary is timed by trie-bench on one of that size
NOT_TIMED = {"softmax", "tail_free", "grammar", "grammar_lazy_patterns"}

# time_chain of the worker with the clock around making the candidates, too
SETUP_INCLUDED = """
import sys, time
from sampler_parity.harness.backends import worker
from sampler_parity.harness.protocol import messages, server

def time_all(backend, scratch, request):
    row = scratch.view(request.rows.at, request.rows.n, "<f4")
    instance = backend.build(request.chain, request.n_vocab, request.vocab)
    ns = []
    for _ in range(request.repetitions):
        start = time.perf_counter_ns()
        instance.apply(None, backend.candidates(row))
        ns.append(time.perf_counter_ns() - start)
    return messages.TimeReply(ns=ns)

server._HANDLERS[messages.TimeRequest] = time_all
sys.argv[1:] = ["llama.cpp"]
worker.main()
"""


def chain_of(sampler: str, n: int, **parameters: object) -> TimedChain:
    return TimedChain(
        id=f"{sampler}/V{n}",
        sampler=sampler,
        chain=[{sampler: parameters}],
        logits=GeneratedLogits(family="normal", n=n, seed=1),
        group=sampler,
        steady=["n_vocab"],
    )


Start = Callable[[BackendProcess | str], BackendProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a backend, which is closed behind the test."""
    with ExitStack() as stack:

        def start(backend: BackendProcess | str) -> BackendProcess:
            process = registry.start(backend) if isinstance(backend, str) else backend
            return stack.enter_context(closing(process))

        yield start


def test_timing_suite_covers_every_sampler_of_llama_cpp_at_131072() -> None:
    timed = {t.sampler for t in read_timings() if t.logits.n == 131072}
    assert timed & set(SIGNATURES) == set(SIGNATURES) - NOT_TIMED


def test_rule_on_the_reference_is_measured_on_every_sampler_of_llama_cpp() -> None:
    ruled = {t.sampler for t in rule_chains()}
    assert ruled & set(SIGNATURES) == set(SIGNATURES) - NOT_TIMED


@pytest.mark.slow
def test_timing_keeps_every_sample_but_the_warm_up(start: Start) -> None:
    backends = [start(name) for name in ("reference", "null")]
    again = start("reference")
    result = time_chain(chain_of("top_k", 5000, k=5), backends, RoundPlan(4, 1, again))
    taken = 4 * REPETITIONS
    for samples in (result.ns, result.setup_ns):
        assert {name: len(ns) for name, ns in samples.items()} == {
            "reference": taken,
            "null": taken,
        }
    assert (result.baseline, len(result.again)) == ("reference", taken)
    assert min(result.ns["reference"]) > 0


@pytest.mark.slow
def test_a_fifth_of_the_speed_is_called_slower_and_equal_speed_is_not(start: Start) -> None:
    """The planted fault slow/400. On a busy machine a run may be inconclusive: it is repeated."""
    backends = [start(name) for name in ("llama.cpp", "slow/400", "slow/0")]
    again = start("llama.cpp")
    timed = chain_of("dist", 8192, seed=1)
    verdicts: list[str] = []
    while len(verdicts) < 5 and verdicts[-1:] != ["slower"]:
        result = time_chain(timed, backends, RoundPlan(60, len(verdicts), again))
        verdicts.append(compare_backends(result, "slow/400", 0.5).verdict)
        assert compare_backends(result, "slow/0", 0.5).verdict in ("same-within", "inconclusive")
    assert verdicts == ["inconclusive"] * (len(verdicts) - 1) + ["slower"]


@pytest.mark.slow
def test_set_up_in_the_figure_shows_as_a_cost_of_the_vocabulary(
    tmp_path: Path, start: Start
) -> None:
    """The planted fault: an adapter that times the making of candidates. top_k 0 does nothing. On a
    busy machine a run may miss it: it is repeated."""
    script = tmp_path / "adapter.py"
    script.write_text(SETUP_INCLUDED)
    backends = [start(BackendProcess("faulty", [sys.executable, str(script)])), start("llama.cpp")]
    sizes = (4096, 65_536, 262_144)
    findings: list[dict[str, bool]] = []
    while len(findings) < 5 and findings[-1:] != [{"faulty": True, "llama.cpp": False}]:
        plan = RoundPlan(10, 1 + len(findings))
        results = [time_chain(chain_of("top_k", n, k=0), backends, plan) for n in sizes]
        findings.append({s.backend: s.finding for s in slopes(results)})
    assert findings[-1] == {"faulty": True, "llama.cpp": False}


@pytest.mark.slow
def test_engine_is_asked_in_its_own_words(start: Start) -> None:
    timed = chain_of("dist", 100, seed=1).model_copy(
        update={"instead": {"akunu/cpu": [{"akunu": {"seed": 1, "temperature": 1.0}}]}}
    )
    backends = [start(name) for name in ("llama.cpp", "akunu/cpu")]
    result = time_chain(timed, backends, RoundPlan(2, 1))
    assert (set(result.ns), result.failed) == ({"llama.cpp", "akunu/cpu"}, {})


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no such call here")
@pytest.mark.slow
def test_backends_are_pinned_to_one_processor(start: Start) -> None:
    backends = [start("null"), start("null")]
    under = rounds.pin(backends)
    assert under.unpinned == ""
    assert [os.sched_getaffinity(b.pid) for b in backends] == [{under.cpu}] * 2
    result = time_chain(chain_of("temp", 10, temp=1.0), backends, RoundPlan(3, 1, under=under))
    assert result.conditions.cpu == under.cpu
    assert len(result.conditions.mhz) in (0, 3)


def test_backend_that_cannot_start_leaves_all_unpinned(start: Start) -> None:
    under = rounds.pin([start(BackendProcess("none", ["/no/such/program"]))])
    assert under.cpu is None
    assert "not pinned: cannot start" in under.unpinned
