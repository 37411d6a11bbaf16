"""The causes of failures come first, and the results that rely on them are listed under them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.programs.cli import server
from sampler_parity.programs.servers.causes import (
    MOST,
    Cause,
    attributed,
    by_cause,
    cause_lines,
    first_look,
)
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.run import EVERYWHERE, QUICK, ServerCheck, run_checks
from sampler_parity.programs.servers.server_record import ServerResult
from tests.support.command_line import cli
from tests.support.fake_server import (
    EOS,
    LLAMA,
    Answered,
    Answering,
    Sent,
    answered,
    fake_client,
    fake_server,
    fake_server_inside,
)
from tests.support.server_faults import drops


def loses(*names: str) -> Answering:
    """Answer without these parameters, as a proxy does that does not pass them on."""
    return lambda sent: answered({k: v for k, v in sent.items() if k not in names})


def lines_of(answering: Answering) -> list[str]:
    with fake_client(answering) as client:
        return [cause.line for cause in first_look(client)]


def checked(answering: Answering, folder: Path, quick: bool = False) -> Bundle:
    with fake_server_inside(answering) as address:
        client = Client(address, LLAMA, eos=EOS, quick=quick)
        check = ServerCheck("mine", client, QUICK if quick else EVERYWHERE)
        return run_checks(check, folder / "b", ["x"], lambda _: None)


def test_a_right_server_has_no_cause() -> None:
    assert lines_of(answered) == []


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["top_p"], ["top_p has no effect"]),
        (["seed"], ["a seed does not repeat"]),
        (["top_p", "seed"], ["a seed does not repeat", "top_p has no effect"]),
        (["logit_bias", "stop"], ["logit_bias has no effect", "stop has no effect"]),
    ],
)
def test_what_a_proxy_loses_is_named_and_nothing_else(names: list[str], lines: list[str]) -> None:
    assert lines_of(loses(*names)) == lines


def test_a_refused_parameter_is_a_cause() -> None:
    def refusing(sent: Sent) -> Answered:
        return (400, {"error": "no"}) if sent.get("top_k") == 1 else answered(sent)

    assert lines_of(refusing) == ["top_k is refused"]


def test_a_neutral_value_that_acts_is_the_only_cause() -> None:
    def greedy_at_0(sent: Sent) -> Answered:
        return answered({**sent, "top_k": 1} if sent.get("top_k") == 0 else sent)

    assert lines_of(greedy_at_0) == ["top_k 0 is not neutral: one text of all seeds"]
    cause = Cause("parameter/top_k", "top_k", "", at_neutral=True)
    for value, id in (0, cause.id), (9, ""), (40, ""):
        result = made("min_p", f'{{"top_k": {value}, "temperature": 2.0}}')
        assert attributed(result, [cause], LLAMA).cause == id


def blank(text: str) -> str:
    return text.replace(" ", "")


def replaced(text: str) -> str:
    return text.replace("w1", "\ufffd\ufffd")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (blank, "a stream loses white space"),
        (replaced, "a stream loses characters outside ASCII"),
        (str.upper, "a stream has another text"),
    ],
)
def test_what_streams_lose_is_a_cause(change: Callable[[str], str], line: str) -> None:
    def changed(sent: Sent) -> Answered:
        status, data = answered(sent)
        if sent.get("stream") and status == 200:
            data["content"] = change(data["content"])
        return status, data

    assert lines_of(changed) == [line]
    cause = Cause("state/texts of streams", "texts of streams", "")
    for sent, id in ('{"stream": true, "top_k": 3}', cause.id), ('{"top_k": 3}', ""):
        assert attributed(made("top_k", sent), [cause], LLAMA).cause == id


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_all_that_fails_behind_a_proxy_is_listed_under_what_it_loses(
    quick: bool, tmp_path: Path
) -> None:
    groups = by_cause(checked(loses("top_p", "seed"), tmp_path, quick), LLAMA)
    assert {(group.result.name, group.result.verdict) for group in groups} == {
        ("top_p", "ignored"),
        ("seed", "silently ignored"),
    }
    under = {result.name for group in groups for result in group.under}
    assert ("a seed repeats" if quick else "ranks") in under


@pytest.mark.slow
def test_a_fault_that_relies_on_no_cause_is_a_cause_of_its_own(tmp_path: Path) -> None:
    def one_text(sent: Sent) -> Answered:
        status, data = loses("min_p")(sent)
        return status, [data[0]] * len(data) if isinstance(data, list) else data

    names = [group.result.name for group in by_cause(checked(one_text, tmp_path, True), LLAMA)]
    assert {*names} >= {"min_p", "choices", "choices with a seed"}


def made(
    name: str, sent: str = "", verdict: str = "other meaning", cause: str = ""
) -> ServerResult:
    fields = {"id": f"parameter/{name}", "group": "parameter", "name": name, "evidence": "e"}
    return ServerResult.model_validate(
        {**fields, "server": "", "sent": sent, "verdict": verdict, "cause": cause}
    )


CAUSES = [Cause(f"parameter/{name}", name, "") for name in ("seed", "top_p", "max_tokens")]


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        ('{"top_p": 0.5, "seed": 1}', "parameter/top_p"),
        ('{"top_p": 1.0, "seed": 1}', "parameter/seed"),  # what it is without the parameter
        ('{"top_p": 1.0, "seed": 1, "temperature": 0}', ""),
        ('{"temperature": 2.0, "max_tokens": 24}', ""),
        ("", ""),
    ],
)
def test_a_result_relies_on_what_its_request_states(sent: str, cause: str) -> None:
    assert attributed(made("min_p", sent), CAUSES, DIALECTS["openai"]).cause == cause


def test_neither_a_cause_nor_a_right_result_relies_on_another() -> None:
    sent = '{"top_p": 0.5, "seed": 1}'
    for result in (
        made("top_p", sent),
        made("min_p", sent, "honoured"),
        made("a", sent, "skipped"),
    ):
        assert attributed(result, CAUSES, DIALECTS["openai"]).cause == ""


def test_the_screen_has_three_causes_and_the_names_of_the_rest(tmp_path: Path) -> None:
    results = [made(f"p{i}") for i in range(MOST + 2)]
    results += [made("q", cause="parameter/p1"), made("r", cause="parameter/p1")]
    assert lines(results)[:2] == [
        "cause    p1: other meaning: e",
        "         2 more rely on it: q, r",
    ]
    assert lines(results)[-1] == "cause    and 2 more: p3, p4"


def test_two_results_of_probabilities_end_under_the_smaller_one() -> None:
    probed = [
        made(name, '{"n_probs": 5, "top_k": 3}').model_copy(
            update={"group": "probabilities", "id": f"probabilities/{name}"}
        )
        for name in "ab"
    ]
    groups = by_cause(bundle_of([*probed, made("min_p", '{"min_p": 0.5}')]), LLAMA)
    assert [(g.result.name, [r.name for r in g.under]) for g in groups] == [
        ("a", ["b"]),
        ("min_p", []),
    ]


def bundle_of(results: Sequence[ServerResult]) -> Bundle:
    class Results(Bundle):
        def of(self, kind: object) -> list[ServerResult]:  # type: ignore[override]
            return [*results]

    return object.__new__(Results)


def lines(results: Sequence[ServerResult]) -> list[str]:
    return [*cause_lines(by_cause(bundle_of(results), LLAMA))]


@pytest.mark.parametrize(
    ("failing", "under"),
    [
        ({"seed": {"seed": 0}, "x": {"seed": 0, "top_p": 0.5}}, {"x": "seed"}),
        ({"seed": {"seed": 0}, "x": {"seed": 7, "top_p": 0.5}}, {}),
        ({"top_p": {"top_p": 0.5}, "min_p": {"min_p": 0.5}}, {}),
        ({"top_p": {"top_p": 0.5}, "x": {"top_p": 0.9, "min_p": 0.5}}, {"x": "top_p"}),
        ({"top_p": {"top_p": 0.5}, "x": {"top_p": 1.0, "min_p": 0.5}}, {}),
        (
            {"min_p": {"min_p": 0.5}, "top_k": {"top_k": 5, "min_p": 0.1}},
            {"top_k": "min_p"},
        ),
        (
            {"min_p": {"min_p": 0.5, "top_k": 1}, "top_k": {"top_k": 5, "min_p": 0.1}},
            {},
        ),
        (
            {
                "top_p": {"top_p": 0.5, "top_k": 5},
                "top_k": {"top_k": 5, "min_p": 0.1},
                "min_p": {"min_p": 0.1, "top_p": 0.5},
            },
            {"top_k": "top_p", "min_p": "top_p"},
        ),
        (
            {"a": {"top_k": 3}, "top_k": {"top_k": 5, "min_p": 0.1}, "min_p": {"min_p": 1.0}},
            {"a": "min_p", "top_k": "min_p"},
        ),
    ],
)
def test_a_failure_is_listed_under_the_simplest_one_of_a_parameter_that_it_states(
    failing: dict[str, dict[str, float]], under: dict[str, str]
) -> None:
    results = [
        made(name, json.dumps(sent)).model_copy(
            update={} if len(name) > 1 else {"group": "state", "id": name}
        )
        for name, sent in failing.items()
    ]
    groups = by_cause(bundle_of(results), LLAMA)
    assert {r.name: g.result.name for g in groups for r in g.under} == under
    assert sorted(failing) == sorted(r.name for g in groups for r in (g.result, *g.under))


def test_the_screen_begins_with_causes_and_ends_with_them(tmp_path: Path) -> None:
    with fake_server(loses("top_p", "seed")) as address:
        words = ["--dialect", "llama-server", "--only", "top_p,seed", "--quick"]
        done = cli("server", "check", address.url, *words, "-o", tmp_path / "b")
    assert done.returncode == 1
    begin, end = done.stdout.splitlines()[:2], done.stdout.splitlines()[-3:]
    assert begin == ["cause    a seed does not repeat", "cause    top_p has no effect"]
    assert [line[:20] for line in end[:2]] == ["cause    top_p: igno", "cause    seed: silen"]
    assert end[2].startswith("server   0/2 as required")


def test_a_name_that_is_no_result_is_refused_with_a_name_that_is() -> None:
    words = ["--dialect", "openai", "--only", "top_q"]
    done = cli("server", "check", "http://127.0.0.1:1", *words)
    assert (done.returncode, "did you mean top_p" in done.stderr) == (2, True)


def test_a_lost_filter_is_ignored_also_if_no_seed_repeats() -> None:
    with fake_client(drops("seed")(loses("top_k"))) as client:
        assert "top_k has no effect" in [cause.line for cause in first_look(client)]


def test_requests_without_a_result_are_counted_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(server, "warn", said.append)
    monkeypatch.setattr(server, "_SILENCE_S", 0.0)
    with fake_client() as client:
        client.traffic.beat = server.Heartbeat()
        client.complete("a", {"n_predict": 1})
    assert said == ["working  , 0 requests"]
