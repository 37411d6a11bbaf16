"""`run skip_ratio`: suites, requirements, records in the bundle, cases without a measurement."""

import json
import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.writer import BundleWriter, create
from sampler_parity.harness.checks import late_failures as late
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.skip_ratio import run as skip_ratio
from sampler_parity.harness.checks.skip_ratio.block import SkipRatiosBlock, Workload
from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.measured import Modelled, Way
from sampler_parity.harness.protocol.messages import plain
from sampler_parity.harness.trie import bench as trie_bench
from sampler_parity.harness.trie.bench import Bench, run
from sampler_parity.harness.trie.llama_cpp import Worker
from sampler_parity.harness.trie.model import foretold, modelled, speed_up
from sampler_parity.harness.trie.session import Tries
from sampler_parity.reference.trie import Leaf
from tests.support.command_line import cli
from tests.support.context import context_of
from tests.support.report_bundles import run_info
from tests.support.skip_ratios import BLOCK, GRAMMAR, TRIE, measured, result, way, workload

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapter.py"
SPEED = "tokens_per_second_vs_grammar_ci95"
OWN_COSTS = {"masking": 1.0, "compacting": 11.0, "grammar": 500.0}


def test_a_block_is_every_leaf_on_every_model_at_every_delay() -> None:
    block = SkipRatiosBlock(**BLOCK, models=["small", "b/m.gguf"], delays_ms=[0.0, 2.5])
    assert [w.id for w in block.items(quick=False)] == [
        *("x/actions-small", "x/actions-small+2.5ms", "x/enum:2-small", "x/enum:2-small+2.5ms"),
        *("x/actions-m", "x/actions-m+2.5ms", "x/enum:2-m", "x/enum:2-m+2.5ms"),
    ]


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"token_accuracy": 0.999}, ["token_accuracy"]),
        ({"skip_ratio_mean": 0.991}, ["skip_ratio_mean"]),
        ({"skip_ratio_exact": None}, ["skip_ratio_mean"]),
        ({"skip_ratio_off": 1}, ["skip_ratio_off"]),
        ({"text_accuracy": 0.4}, ["text_accuracy"]),
        ({SPEED: (1.9, 4)}, [f"{SPEED}.low"]),
        ({"own_us_per_step": OWN_COSTS}, ["own_share"]),
    ],
    ids=["right", "token", "skip-ratio", "no-exact", "a-step-off", "text", "speed", "own-cost"],
)
def test_what_is_required_is_checked(changes: dict[str, Any], missed: list[str]) -> None:
    asked = workload(text_accuracy=0.5, speed_up=2.0, own_share=0.02)
    outcome = measured(**changes)
    checks = asked.checks(outcome)
    assert [check.what for check in checks if not check.met] == missed
    assert result(outcome, checks=checks).ok == (not missed)


def test_what_was_not_measured_or_not_checked_is_not_ok() -> None:
    assert not result(None).ok
    assert not result(measured(), checks=[]).ok


def test_the_model_by_hand() -> None:
    """1 x (900 + 3100) / (0.5 x (1000 + 100)); with passes of 20 ms 23.1 / (0.5 x 20.1)."""
    assert speed_up(TRIE, GRAMMAR, (1000.0, 900.0)) == pytest.approx(4000 / 550)
    speed = modelled(TRIE, GRAMMAR)
    assert speed.here == pytest.approx(4000 / 550)
    assert speed.by_decode_ms is not None
    assert speed.by_decode_ms["20"] == pytest.approx(23.1 / 10.05)
    longer = measured(ways={"trie": TRIE, "grammar_first": way(1.0, 9999.0, 20_000.0)})
    assert foretold(measured(), longer) == pytest.approx(23.1 / 10.05)


def test_a_sampler_that_leaves_other_tokens_has_another_skip_ratio(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: llama.cpp is given a trie that lets token 7 through, too."""

    def wrong(payload: Any) -> Tries:
        leaves = (*payload.descriptors[0].leaves, Leaf("more", (7,)))
        return Tries(payload, {payload.descriptors[0].path: FlatTrie(leaves)})

    monkeypatch.setattr(trie_bench, "build_tries", wrong)
    with closing(Bench(str(tiny), "enum:40", ("one",))) as bench:
        outcome = run(bench, "strict-trie-ffi", rounds=1)
    assert outcome.skip_ratio_off == 1
    missed = {c.what for c in workload().checks(outcome) if not c.met}
    assert missed == {"skip_ratio_mean", "skip_ratio_off"}


def test_a_bench_makes_every_pass_longer_while_it_measures(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("sampler_parity.harness.llama_cpp.decode.time.sleep", slept.append)
    with closing(Bench(str(tiny), "enum:2", ("one",), delay_ms=3.0)) as bench:
        run(bench, "strict-trie-ffi", rounds=1)
    assert set(slept) == {0.003}
    assert len(slept) >= 2 * 4  # a round to warm up and one more, four ways


def writer_in(folder: Path) -> BundleWriter:
    return create(folder / "b", run_info("llama.cpp"))


def records(writer: BundleWriter) -> list[SkipRatioResult]:
    return bundle.read(writer.folder).of(SkipRatioResult)


def small(tiny: Path, **changes: Any) -> Workload:
    fields = {"models": [str(tiny)], "leaves": ["enum:2"], "prompts": 1, "rounds": 1}
    return workload(**{**fields, **changes})


@pytest.mark.slow
def test_backends_without_a_native_chain_are_unsupported_with_the_reason(
    tmp_path: Path, tiny: Path
) -> None:
    writer = writer_in(tmp_path)
    names = ["reference", f"a={sys.executable} {EXAMPLE}"]
    skip_ratio.measure([CheckItem("s", small(tiny))], context_of(writer, names))
    lines = records(writer)
    assert [r.verdict for r in lines] == ["unsupported"] * 2
    assert [r.id for r in lines] == ["x/enum:2-tiny@reference", "x/enum:2-tiny@a"]
    assert "has no native chain to put a trie into: use llama.cpp" in lines[0].detail


# An outside adapter, which reports its measurements. Its third argument changes the first request;
# with `late`, it acts after its reply.
ADAPTER = """
import json, os, sys, time
for line in sys.stdin:
    late = "pass"
    asked = json.loads(line)
    if asked["do"] == "hello":
        reply = {"ok": True, "name": "mine", "version": "1", "samplers": []}
        reply["capabilities"] = ["skip_ratio"]
    elif asked["do"] == "bye":
        break
    else:
        if not os.path.exists(sys.argv[2]):
            open(sys.argv[2], "w").close()
            exec(sys.argv[3])
        measured = json.load(open(sys.argv[1]))
        measured["pairs"] = asked["rounds"] * len(asked["prompts"])
        measured["leaves"] = len(asked["leaves"])
        reply = {"ok": True, "measured": measured}
    print(json.dumps(reply), flush=True)
    exec(late)
"""


def adapter(folder: Path, act: str = "pass") -> str:
    """Its name for -b; act: what it does when it is asked first."""
    (folder / "adapter.py").write_text(ADAPTER)
    text = json.dumps(plain(measured(model="theirs").model_dump()))
    (folder / "measured.json").write_text(text)
    files = [str(folder / name) for name in ("adapter.py", "measured.json", "asked")]
    return f"mine={shlex.join([sys.executable, *files, act])}"


def test_an_adapter_of_another_author_has_its_skip_ratio_measured(
    tmp_path: Path, tiny: Path
) -> None:
    writer = writer_in(tmp_path)
    skip_ratio.measure([CheckItem("s", small(tiny))], context_of(writer, [adapter(tmp_path)]))
    (record,) = records(writer)
    assert (record.id, record.verdict, record.ok) == ("x/enum:2-tiny@mine", "measured", True)
    assert record.measured == measured(model=str(tiny), pairs=1, leaves=2)


@pytest.mark.parametrize(
    ("act", "verdict", "detail"),
    [
        ("os.abort()", "crashed", "the process that measured died: signal SIGABRT"),
        ("time.sleep(600)", "timeout", "not measured within 3 s"),
        ("asked['rounds'] += 1", "crashed", "expected 1 spans among 2 leaves"),
        ("asked['leaves'] = ['A']", "crashed", "expected 1 spans among 2 leaves"),
        ("late = 'os._exit(4)'", "crashed", "ended after its reply: exit status 4"),
        ("late = 'print(1, flush=True)'", "crashed", "more than one line for one request"),
    ],
    ids=["dies", "hangs", "other-rounds", "other-leaves", "dies-late", "says-more"],
)
@pytest.mark.slow
def test_a_measurement_that_takes_its_process_down_costs_one_result(
    tmp_path: Path, tiny: Path, act: str, verdict: str, detail: str, monkeypatch: Any
) -> None:
    if "late" in act:  # what comes ends the waiting
        monkeypatch.setattr(late, "SILENCE_S", 1.0)
    writer = writer_in(tmp_path)
    items = [CheckItem("s", small(tiny)), CheckItem("s", small(tiny, id="y"))]
    ended: list[Any] = []

    def progress(results: Any, note: str = "") -> None:
        ended.extend(results)

    terms: dict[str, Any] = {"progress": progress, "timeout_s": 0.2}
    skip_ratio.measure(items, context_of(writer, [adapter(tmp_path, act)], **terms))
    first, second = records(writer)
    assert [result.id for result in ended] == [first.id, second.id]
    assert (first.verdict, second.verdict) == (verdict, "measured")
    assert detail in first.detail


@pytest.mark.slow
def test_run_writes_a_record_and_fails_for_what_is_missed(tmp_path: Path, tiny: Path) -> None:
    suite = tmp_path / "s.toml"
    text = (
        'name = "s"\n[[skip_ratio]]\nid = "x"\ndescription = "d"\nwhy = "w"\n'
        f'models = ["{tiny}"]\nleaves = ["enum:2"]\nprompts = 1\nrounds = 1\n'
    )
    suite.write_text(text)
    done = cli("run", suite, "-o", tmp_path / "b")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skip     1/1 as required" in done.stdout
    (record,) = bundle.read_finished(tmp_path / "b").of(SkipRatioResult)
    assert (record.id, record.ok) == ("s/x/enum:2-tiny@llama.cpp", True)
    suite.write_text(text + "speed_up = 1e9\n")
    done = cli("run", suite, "-o", tmp_path / "missed")
    assert done.returncode == 1
    assert "FAILED s/x/enum:2-tiny on llama.cpp" in done.stdout
    assert "tokens_per_second_vs_grammar_ci95.low is" in done.stdout
    assert "--case s/x/enum:2-tiny -b llama.cpp" in done.stdout


def test_a_trie_of_one_leaf_has_no_model() -> None:
    none = Way(**{**TRIE.model_dump(), "decode_us_mean": None, "sampler_us_mean": None})
    assert modelled(none, GRAMMAR) == Modelled(here=None, by_decode_ms=None)
    assert foretold(measured(modelled=modelled(none, GRAMMAR)), measured()) is None


def test_a_build_that_cannot_generate_is_unsupported_with_its_release(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampler_parity.harness.llama_cpp.worker.Worker._decodes", lambda _: [])
    fields = {"leaves": ["A", "B"], "prompts": ["one"], "rounds": 1, "seed": 0}
    request = p.SkipRatioRequest.model_validate(fields | {"model": str(tiny)})
    with pytest.raises(Unsupported, match=r"llama\.cpp v0\.5\.0 decodes no model here"):
        Worker().skip_ratio(request)
