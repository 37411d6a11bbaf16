"""Generation: real decoding against the reference, planted faults, and refused models."""

import functools
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from sampler_parity.harness.bundle.artifacts import generation_file
from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.generation.block import GenerationCase
from sampler_parity.harness.checks.generation.run import ONE_OF_EQUALS, compare_tokens, request_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.shrink import shrink
from sampler_parity.harness.inputs import fixtures, models
from sampler_parity.harness.inputs.logits import DecodedLogits
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, suites_folder
from tests.support.command_line import cli, refused
from tests.support.inside import HELLO, case_of, result_of
from tests.support.tiny_model import N_VOCAB, compute_logits, write_tiny_model

SUITE = suites_folder() / "generate" / "generation.toml"
GOLDEN = "generation/golden/"
QUICK = "-json-18.33"
CHAINS = {"default", "greedy", "mirostat", "mirostat_v2", "adaptive_p", "dry_penalties_xtc"}


@functools.cache
def cases_of(profile: Profile) -> list[GenerationCase]:
    return expand(SUITE, profile)


def generated(
    case: GenerationCase, backend: Backend
) -> tuple[p.GenerateReply, NDArray[np.float32]]:
    done = client.generate(backend, request_of(case))
    return done.reply, done.rows


@pytest.mark.slow
def test_the_profiles_generate_32_and_128_tokens_on_six_chains_each_prompt_by_its_own_seed() -> (
    None
):
    both = get_args(Profile)
    quick, full = ([c for c in cases_of(profile) if c.id.startswith(GOLDEN)] for profile in both)
    assert (len(quick), len(full)) == (4 * 6, 216 * 6)
    assert ({c.steps for c in quick}, {c.steps for c in full}) == ({32}, {128})
    assert {c.id for c in full} > {c.id for c in quick}
    prompts = {tuple(c.logits.prompt) for c in full if isinstance(c.logits, DecodedLogits)}
    seeds = {c.chain[-1]["dist"]["seed"] for c in full if "dist" in c.samplers}
    assert len(prompts) == len(seeds) == 216


@pytest.mark.slow
def test_generation_of_the_golden_model_is_the_references_token_for_token(
    native: BackendProcess,
) -> None:
    cases = [case for case in cases_of("quick") if case.id.endswith(QUICK)]
    results = [execute(case, [native]) for case in cases]
    assert [r.backends["llama.cpp"].verdict for r in results] == ["identical"] * 6
    assert [r.steps for r in results] == [32] * 6
    assert all(r.ok for r in results)


def test_logits_of_each_step_are_those_of_the_text_so_far(tiny: Path, inside: Any) -> None:
    """Against a second program: the same network in float64 with numpy."""
    backend = inside()
    reply, rows = generated(case_of(tiny, [{"dist": {"seed": 5}}]), backend)
    wanted = compute_logits(HELLO + reply.tokens)
    assert rows.shape == (24, N_VOCAB)
    # llama.cpp keeps keys and values in float16
    assert np.abs(rows - wanted[len(HELLO) - 1 : -1]).max() < 0.05
    assert np.abs(rows[1:] - rows[:-1]).max(axis=1).min() > 0.2  # neighbours are far apart


CHAIN_TYPE = "sampler_parity.harness.llama_cpp.worker.chain_type"


class _SkipsPrompt(NativeChain):
    """Accepts nothing by itself: what the prompt held is unknown to the chain."""

    def accept(self, token: int) -> None:
        pass


class _AcceptsTwice(NativeChain):
    """llama_sampler_sample accepts already; many programs accept a second time."""

    def sample(self, context: int, output: int = -1) -> int:
        token = super().sample(context)
        self.accept(token)
        return token


class _NeverAccepts(NativeChain):
    def sample(self, context: int, output: int = -1) -> int:
        fresh = self.clone()  # what sample accepts is lost; so is what it draws
        return NativeChain.sample(fresh, context)


class _KeepsFirstLogits(NativeChain):
    """Draws from the logits after the prompt at every step."""

    first: int | None = None

    def sample(self, context: int, output: int = -1) -> int:
        if self.first is None:
            self.first = super().sample(context)
        return self.first


@pytest.mark.parametrize(
    ("fault", "chains"),
    [
        (_SkipsPrompt, {"dry_penalties_xtc"}),
        (_AcceptsTwice, {"dry_penalties_xtc"}),
        (_NeverAccepts, CHAINS - {"greedy"}),
        (_KeepsFirstLogits, CHAINS),
    ],
    ids=["skips-the-prompt", "accepts-twice", "never-accepts", "keeps-the-first-logits"],
)
@pytest.mark.slow
def test_quick_suite_catches_a_fault_of_generation_on_the_chains_that_it_concerns(
    fault: type[NativeChain], chains: set[str], inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHAIN_TYPE, lambda: fault)
    cases = [case for case in cases_of("quick") if case.id.endswith(QUICK)]
    results = {c.id.removeprefix(GOLDEN): result_of(c, inside()) for c in cases}
    diverged = {i.removesuffix(QUICK): r for i, r in results.items() if r.verdict == "diverged"}
    assert set(diverged) == chains, {i: r.step for i, r in diverged.items()}
    assert {(r.stage, r.what) for r in diverged.values()} == {("token", "token")}
    assert all(r.values["got"] != r.values["expected"] for r in diverged.values())


@pytest.mark.slow
def test_generation_that_diverges_is_made_small(
    inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHAIN_TYPE, lambda: _KeepsFirstLogits)
    chain: p.ChainSpec = [{"top_k": {"k": 40}}, {"greedy": {}}]
    case, backend = case_of(Path("small"), chain, prompt=[4090, 1660, 953, 82]), inside()
    assert result_of(case, backend).verdict == "diverged"
    small = shrink(case, lambda c: result_of(c, backend).verdict == "diverged")
    assert (small.chain, small.steps) == ([{"greedy": {}}], 2)


def test_token_that_differs_is_placed_and_its_logits_are_saved(
    tiny: Path, inside: Any, tmp_path: Path
) -> None:
    case = case_of(tiny, [{"greedy": {}}], tokens=6)
    right, rows = generated(case, inside())
    other = [*right.tokens[:4], (right.tokens[4] + 1) % N_VOCAB, right.tokens[5]]
    wrong = rows[4].copy()
    backend = inside(edit=lambda reply: reply.model_copy(update={"tokens": other}))
    result = execute(case, [backend], tmp_path)
    outcome = result.backends["llama.cpp"]
    assert (outcome.verdict, outcome.step, result.steps) == ("diverged", 4, 5)
    assert (outcome.values["got"], outcome.values["expected"]) == (other[4], right.tokens[4])
    saved = np.load(tmp_path / generation_file("tiny", "llama.cpp"))
    assert saved["prompt"].tolist() == HELLO
    assert saved["tokens"].tolist() == other
    assert saved["row"].tolist() == wrong.tolist()


@pytest.mark.parametrize(("others", "text"), [(1.0, ONE_OF_EQUALS), (0.5, "")])
def test_one_of_equal_logits_for_another_is_diverged_and_reported_so(
    others: float, text: str, tiny: Path, native: BackendProcess
) -> None:
    case = case_of(tiny, [{"greedy": {}}], tokens=1)
    row = np.full(N_VOCAB, others, np.float32)
    row[2] = 1.0
    best = int(row.argmax())
    reply = p.GenerateReply(tokens=[best + 1])
    result, _ = compare_tokens(native, request_of(case), reply, row[None])
    assert (result.verdict, result.detail) == ("diverged", text)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([0, 1], "2 tokens in the reply, asked for 3"),
        ([0, 1, 320], "token 320 is not in the vocabulary"),
        ([0, -1, 2], "token -1 is not in the vocabulary"),
    ],
    ids=["too-few", "beyond", "negative"],
)
def test_reply_that_does_not_fit_the_request_is_a_crash(
    tokens: list[int], message: str, tiny: Path, inside: Any
) -> None:
    backend = inside(edit=lambda reply: reply.model_copy(update={"tokens": tokens}))
    outcome = result_of(case_of(tiny, [{"greedy": {}}], tokens=3), backend)
    assert (outcome.verdict, outcome.detail) == ("crashed", message)


def test_row_that_the_backend_leaves_out_is_seen(tiny: Path, inside: Any) -> None:
    class Lazy(Worker):
        def generate(
            self, request: p.GenerateRequest, rows: NDArray[np.float32]
        ) -> p.GenerateReply:
            return super().generate(request, rows.copy())

    backend = inside(Lazy())
    generated(case_of(tiny, [{"greedy": {}}]), inside())
    outcome = result_of(case_of(tiny, [{"greedy": {}}]), backend)
    reason = "the logits of step 0 are missing or have a NaN"
    assert (outcome.verdict, outcome.detail) == ("rejected", reason)


def test_build_of_another_release_does_not_claim_to_generate(
    worker: Worker, tiny: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "generate" in worker.hello().capabilities
    monkeypatch.setattr(worker.library, "release", "b4753")
    assert "generate" not in worker.hello().capabilities
    assert result_of(case_of(tiny, [{"greedy": {}}]), inside()).verdict == "skipped"


def test_model_without_weights_of_the_right_size_is_rejected(
    tmp_path: Path, native: BackendProcess
) -> None:
    path = tmp_path / "short.gguf"
    write_tiny_model(path, n_embedded=N_VOCAB - 1)
    outcome = result_of(case_of(path, [{"greedy": {}}]), native)
    reason = f"{path}: llama.cpp cannot load this model - check the GGUF file"
    assert (outcome.verdict, outcome.detail) == ("rejected", reason)


def test_generation_beyond_the_trained_context_is_rejected(tiny: Path, inside: Any) -> None:
    outcome = result_of(case_of(tiny, [{"greedy": {}}], tokens=64), inside())
    assert outcome.verdict == "rejected"
    assert "was trained on 64 tokens, but 87 are needed" in outcome.detail


def test_golden_model_that_was_swapped_is_refused(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "small.gguf").write_bytes(tiny.read_bytes())
    manifest = (fixtures.golden_folder() / "manifest.toml").read_text()
    (tmp_path / "manifest.toml").write_text(manifest)
    monkeypatch.setattr(fixtures, "golden_folder", lambda: tmp_path)
    with pytest.raises(InputError, match=r"SHA-256 is .*: another model"):
        models.model_path.__wrapped__("small")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": 5}, "draws\n  Extra inputs are not permitted"),
        ({"history": [1]}, "history\n  Extra inputs are not permitted"),
        ({"script": "reset"}, "script\n  Extra inputs are not permitted"),
        ({"chain": [{"top_k": {"k": 4}}]}, "the last stage must select a token, top_k does not"),
        ({"chain": []}, "the last stage must select a token, none does not"),
        ({"prompt": []}, "at least 1 item"),
    ],
    ids=["draws", "history", "script", "selects-nothing", "no-chain", "no-prompt"],
)
def test_case_that_cannot_be_generated_is_refused(
    change: dict[str, Any], message: str, tiny: Path
) -> None:
    chain = change.pop("chain", [{"greedy": {}}])
    with pytest.raises(ValidationError, match=message):
        case_of(tiny, chain, **change)


def write_suite(folder: Path, model: Path | str) -> Path:
    path = folder / "mine.toml"
    path.write_text(f"""name = "mine"
[[generate]]
id = "own"
description = "A model of one's own"
why = "To test."
model = "{model}"
prompts = {{ hi = [317, 104, 101] }}
tokens = 5
chains = {{ greedy = [{{ greedy = {{}} }}] }}
""")
    return path


@pytest.mark.slow
def test_run_generates_with_a_model_of_ones_own(tiny: Path, tmp_path: Path) -> None:
    suite, bundle = write_suite(tmp_path, tiny), tmp_path / "bundle"
    done = cli("run", suite, "-o", bundle, "-j", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1/1 identical" in done.stdout
    assert "IDENTICAL mine/own/greedy-hi" in cli("explain", bundle, "mine/own/greedy-hi").stdout


@pytest.mark.slow
def test_run_refuses_a_model_that_is_missing_or_cut(tiny: Path, tmp_path: Path) -> None:
    fix = "use small, random-128256 or the path of a GGUF file"
    text = refused(cli("run", write_suite(tmp_path, "nowhere.gguf")))
    assert f"nowhere.gguf: no such model - {fix}" in text
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[:2000])
    assert "not a readable GGUF file" in refused(cli("run", write_suite(tmp_path, cut)))
