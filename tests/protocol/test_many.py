"""Many runs in one request have the results of the same runs, each in a request of its own."""

import itertools
import json
import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampler_parity.harness.backends.reference import Worker
from sampler_parity.harness.protocol import client, server
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Ran, RunCall
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.protocol.replies import MESSAGE, MOST, reply_bytes
from sampler_parity.harness.protocol.server import InPlace
from tests.support.runs import cases, shown

SUITES = ("parity/top_k", "parity/state", "parity/dtypes", "parity/xtc", "parity/temp")


class Claiming(InPlace):
    """The reference with these capabilities. It keeps its last request, and the lines of both sides
    pass for those of a process."""

    def __init__(self, *claims: str) -> None:
        super().__init__("reference", Worker())
        self.claims = claims
        self.request: Any = None

    def hello(self) -> p.HelloReply:
        hello = super().hello()
        return hello.model_copy(update={"capabilities": [*hello.capabilities, *self.claims]})

    def answer(self, request: Any, timeout_s: float | None) -> p.Reply | p.ErrorReply:
        self.request = p.request_of(p.data_of(p.to_line(request).encode()))
        reply = server.answer(self.worker, self.scratch, self.request)
        return type(reply).model_validate(json.loads(p.to_line(reply)))


@pytest.fixture(params=[("many",), ("many", "table"), ("many", "table", "no_stages")], ids="+".join)
def backend(request: pytest.FixtureRequest) -> Iterator[Claiming]:
    with closing(Claiming(*request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def runs() -> list[RunCall]:
    every = [ready.run(len(ready.steps)) for suite in SUITES for ready in cases(suite)]
    every += [replace(run, detail="token") for run in every[::5]]
    assert any(run.setting.dtype != "float32" for run in every)
    infinite: p.ChainSpec = [{"temp": {"temp": math.inf}}, {"top_k": {"k": 2}}]
    every += [
        replace(run, setting=replace(run.setting, chain=infinite, n_prompt=0)) for run in every[::9]
    ]
    return [run for run in every if run.most_bytes < 1 << 20]


def alone(backend: InPlace, run: RunCall) -> Ran | BackendFailure:
    try:
        return client.one(backend, run)
    except BackendFailure as failure:
        return failure


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_each_run_has_its_own_result_in_any_company(
    data: st.DataObject, backend: Claiming, runs: list[RunCall]
) -> None:
    some = data.draw(st.lists(st.sampled_from(runs), min_size=1, max_size=12))
    together = [shown_or_none(ran) for ran in client.many(backend, some)]
    places = [
        (run.rows.at, run.out + 12 * run.n_vocab * (len(run.chain) + 1) * len(run.steps))
        for run in backend.request.runs
    ]
    assert together == [shown_or_none(alone(backend, run)) for run in some]
    assert all(end <= at for (_, end), (at, _) in itertools.pairwise(places))
    assert all(at % 4 == 0 for at, _ in places)


def shown_or_none(ran: Ran | BackendFailure) -> Any:
    return shown(ran) if isinstance(ran, Ran) else None


def run(*chain: dict[str, Any], n: int = 4) -> RunCall:
    rows = [np.arange(n, dtype=np.float32)]
    return RunCall(client.Setting(list(chain), n), rows, [p.Step(row=0)])


def test_a_run_that_is_refused_leaves_the_others(backend: Claiming) -> None:
    bad = run({"logit_bias": {"n_vocab": 4, "logit_bias": [[9, 1.0]]}})
    good = run({"greedy": {}})
    first, second, third = client.many(backend, [good, bad, good])
    assert isinstance(second, BackendFailure)
    assert second.verdict == "rejected"
    assert isinstance(first, Ran)
    assert isinstance(third, Ran)
    assert first.tokens == third.tokens == [3]
    assert shown(first) == shown(third)


@pytest.mark.parametrize("more", [-1, 1])
def test_another_number_of_replies_breaks_the_protocol(
    backend: Claiming, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: p.ManyRequest, _: float | None) -> p.ManyReply:
        reply = server.many(backend.worker, backend.scratch, request)
        return p.ManyReply(replies=[*reply.replies, reply.replies[0]][: 2 + more])

    with closing(Claiming("many")) as backend:
        monkeypatch.setattr(backend, "answer", answer)
        with pytest.raises(BackendFailure, match=f"{2 + more} replies to 2 runs"):
            client.many(backend, [run({"greedy": {}})] * 2)


@pytest.mark.slow
def test_the_line_of_many_runs_is_as_of_each_alone(runs: list[RunCall]) -> None:
    with closing(Claiming("many", "table")) as backend:
        client.many(backend, runs[:: max(1, len(runs) // 60)])
        request = backend.request
    line = json.loads(p.to_line(request, 7))
    assert (line["do"], line["number"]) == ("many", 7)
    assert line["runs"] == [json.loads(p.to_line(each)) for each in request.runs]
    assert "number" not in json.loads(p.to_line(request))
    for each in request.runs:
        whole = json.loads(json.dumps(p.plain(each.model_dump())))
        left_out = {"number": None, "n_prompt": 0, "table": None}
        written = json.loads(p.to_line(each))
        written["rows"] = {"dtype": "float32"} | written["rows"]
        assert left_out | written == whole
    assert p.to_line(p.ManyReply(replies=[])) == '{"ok":true,"replies":[]}'


def test_a_reply_to_many_may_be_as_long_as_those_to_each() -> None:
    rows = p.Rows(at=0, count=1, n=1)
    step = [p.Step(row=0)] * 1000
    one = p.RunRequest(chain=[{"greedy": {}}], n_vocab=9, rows=rows, steps=step, out=4)
    assert reply_bytes(p.ManyRequest(runs=[one] * 3)) == 3 * reply_bytes(one) > 3 * MESSAGE
    assert reply_bytes(p.ManyRequest(runs=[one] * 1000)) == MOST
