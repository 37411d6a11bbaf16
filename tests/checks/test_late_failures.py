"""A backend that fails after a good reply of a measurement fails that measurement."""

import json
from collections.abc import Callable

import pytest

from sampler_parity.harness.checks import late_failures as late
from sampler_parity.harness.checks.distribution.block import Injected
from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.throughput import Width, decode_width
from sampler_parity.harness.checks.timing.block import TimedChain
from sampler_parity.harness.checks.timing.rounds import RoundPlan
from sampler_parity.harness.checks.timing.run import time_chain
from sampler_parity.harness.inputs.logits import GeneratedLogits
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.statistics.plan import Budget
from tests.support.script_backend import backend

ROW = GeneratedLogits(family="normal", n=8, seed=1)
GREETING = json.dumps(
    {
        "ok": True, "name": "script", "version": "1", "samplers": ["temp", "dist"],
        "capabilities": ["time", "draws", "uniforms", "throughput"],
    }
)  # fmt: skip


def timed(script: Backend) -> str:
    chain = TimedChain(id="temp", sampler="temp", chain=[{"temp": {"temp": 1.0}}], logits=ROW)
    result = time_chain(chain, [script], RoundPlan(2))
    assert bool(result.ns) != bool(result.failed)
    return result.failed.get("script", "")


def decoded(script: Backend) -> str:
    width = Width(
        id="x", model="small", chain_name="x", chain=[{"temp": {"temp": 1.0}}], prompt=[1],
        tokens=1, sequences=1,
    )  # fmt: skip
    on = decode_width(width, [script], RoundPlan(2)).backends["script"]
    assert bool(on.rounds) != bool(on.failed)
    return on.failed


def drawn(script: Backend) -> str:
    cell = Injected(
        id="c", description="d", why="w", chain=[{"dist": {"seed": 1}}], logits=ROW, uniforms=[0.5]
    )
    result = execute_cell(cell, [script], Budget(tests=10).each).backends["script"]
    assert (result.decision == "crashed") == (result.draws == 0)
    return f"{result.decision}: {result.detail}" if result.decision == "crashed" else ""


REPLIES: dict[Callable[[Backend], str], str] = {
    timed: '{"ok":true,"ns":[7,7,7]}',
    decoded: '{"ok":true,"prompt_ns":7,"sample_ns":[7],"decode_ns":[7]}',
    drawn: '{"ok":true}',
}
MEASUREMENTS = pytest.mark.parametrize("measurement", REPLIES, ids=lambda m: m.__name__)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "problem"),
    [
        ("os._exit(4)", "crashed: ended after its reply: exit status 4"),
        ("say('done\\n')", "crashed: more than one line for one request: 'done\\n'"),
    ],
    ids=["it ends", "it says more"],
)
@MEASUREMENTS
def test_a_fault_after_the_last_reply_is_the_measurements(
    measurement: Callable[[Backend], str],
    then: str,
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(late, "SILENCE_S", 5.0)  # a busy machine; what comes ends the waiting
    last = 1 if measurement is drawn else 3
    act = f"n = globals().get('n', 0) + 1; say('{REPLIES[measurement]}\\n')\n"
    with backend(f"{act}if n == {last}: time.sleep(0.001); {then}", GREETING) as script:
        assert measurement(script) == problem
        assert (script.late, script.starts) == ([], 1)


@pytest.mark.slow
@pytest.mark.parametrize("measurement", [timed, decoded])
def test_a_fault_between_two_requests_is_the_measurements(
    measurement: Callable[[Backend], str],
) -> None:
    act = f"n = globals().get('n', 0) + 1; say('{REPLIES[measurement]}\\n')\n"
    with backend(f"{act}if n == 2: os._exit(4)", GREETING) as script:
        assert measurement(script) == "crashed: ended after its reply: exit status 4"


@pytest.mark.slow
@MEASUREMENTS
def test_a_measurement_does_not_pay_for_the_one_before(
    measurement: Callable[[Backend], str],
) -> None:
    with backend(f"say('{REPLIES[measurement]}\\n')", GREETING) as script:
        assert measurement(script) == ""
        script.late.append((script.asked, "a fault of the one before"))
        assert measurement(script) == ""
        assert Watched(script).problem() == ""
