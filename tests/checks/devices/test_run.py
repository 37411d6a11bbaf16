"""Devices: chosen by name, their logits compared, samplers on their own logits, and the report."""

import math
import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.artifacts import row_file
from sampler_parity.harness.bundle.info import BackendInfo, Footer
from sampler_parity.harness.bundle.records import Parted
from sampler_parity.harness.bundle.writer import create
from sampler_parity.harness.checks import logits
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.devices import DeviceCase, on_rows
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.generation.run import parted
from sampler_parity.harness.checks.logits import DecodeResult, LogitsFigures
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.counterexample import counterexample, looks
from sampler_parity.harness.inputs.logits import Computed
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.harness.suite.file import expand, suites_folder
from sampler_parity.reports.pages.parity.parity_build import report_of
from sampler_parity.reports.pages.parity.parity_page import document
from sampler_parity.reports.writers.ci import markdown
from sampler_parity.reports.writers.html import html
from tests.support.cases import ABOUT
from tests.support.command_line import cli
from tests.support.context import ready
from tests.support.inside import HELLO
from tests.support.report_bundles import case as case_result
from tests.support.report_bundles import got, run_info
from tests.support.tiny_model import N_VOCAB

linux_only = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the made libraries are for Linux on x86-64",
)


@pytest.fixture(autouse=True)
def nothing_decoded_yet() -> None:
    logits._decoded.clear()


class Other(Worker):
    """A device whose logits are larger by 0.25 for token 7 in the last row."""

    def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
        super().decode(request, rows)
        rows[-1, 7] += 0.25


def computed(model: Path, chain: p.ChainSpec, **other: Any) -> Any:
    logits = {"computed": str(model), "prompt": HELLO} | other.pop("logits", {})
    return case_from(ABOUT | {"id": "x", "chain": chain, "logits": logits} | other)


def folder_with_variant(folder: Path, variant: str, score: int) -> Path:
    """Link the installed libraries, next to a CPU variant that gives itself this score."""
    folder.mkdir()
    for library in default_folder().glob("*.so*"):
        (folder / library.name).symlink_to(library)
    code = f"int ggml_backend_score(void) {{ return {score}; }}"
    compile_variant(folder, variant, code)
    return folder


def compile_variant(folder: Path, variant: str, code: str) -> None:
    target = folder / f"libggml-cpu-{variant}.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(target)]
    subprocess.run(command, input=code, text=True, check=True)


@linux_only
@pytest.mark.parametrize("device", ["mainfraim", "cuda"])
def test_a_device_that_the_build_does_not_have_is_refused(tmp_path: Path, device: str) -> None:
    folder = folder_with_variant(tmp_path / "f", "mainframe", 1)
    with pytest.raises(InputError, match=f"the build has no device '{device}' - mainframe"):
        registry.command_of(f"llama.cpp@{folder}:{device}")


@pytest.mark.slow
@linux_only
def test_the_list_says_which_variants_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = folder_with_variant(tmp_path / "f", "mainframe", 0)
    folder_with_variant(tmp_path / "g", "abacus", 3)
    (tmp_path / "g" / "libggml-cpu-abacus.so").rename(folder / "libggml-cpu-abacus.so")
    (folder / "libggml-vulkan.so").write_bytes(b"no library")
    builds.add(f"x={folder}", "v0.5.0")
    first, second = builds.describe()
    assert first == "x              v0.5.0           abacus"
    assert "not here: mainframe (this processor lacks what it needs); vulkan (cannot be" in second


@linux_only
@pytest.mark.parametrize(
    ("constructor", "says"), [("abort()", "signal SIGABRT"), ("sleep(60)", "no reply within 3 s")]
)
@pytest.mark.slow
def test_a_library_that_aborts_or_hangs_is_listed_and_ends_no_list(
    constructor: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "_PROBE_TIMEOUT_S", 3.0)
    folder = folder_with_variant(tmp_path / "f", "mainframe", 1)
    code = "#include <stdlib.h>\n#include <unistd.h>\n"
    code += f"__attribute__((constructor)) static void on_load(void) {{ {constructor}; }}"
    compile_variant(folder, "mainframe", code)
    builds.add(f"x={folder}", "v0.5.0")
    first, second = builds.describe()
    assert first == "x              v0.5.0           unknown"
    assert second.strip() == f"not here: mainframe ({says})"


@pytest.mark.slow
def test_run_goes_on_without_a_backend_that_does_not_run_here(tiny: Path, tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(f"""name = "mine"
[[decode]]
id = "own"
description = "A model of one's own"
why = "To test."
model = "{tiny}"
prompts = {{ hi = [317, 104, 101] }}
chains = {{ greedy = [{{ greedy = {{}} }}] }}
""")
    both = ["-b", "llama.cpp", "-b", "mine=/no/such/program", "-j", "1"]
    done = cli("run", suite, *both, "-o", tmp_path / "b")
    assert done.returncode == 2, done.stderr
    assert "1 of the backends do not run here: exit status 2" in done.stdout
    read = bundle.read_finished(tmp_path / "b")
    assert "cannot start /no/such/program" in read.info.backends["mine"].unavailable
    assert [(c.id, list(c.backends), c.ok) for c in read.cases] == [
        ("mine/own/greedy-hi", ["llama.cpp"], True)
    ]
    assert [d.id for d in read.of(DecodeResult)] == ["mine/own/logits-hi"]
    done = cli("run", suite, *both, "-o", tmp_path / "b", "--if-available", "--resume")
    assert done.returncode == 0, done.stderr
    assert bundle.read_finished(tmp_path / "b").of(DecodeResult) == read.of(DecodeResult)


def test_each_backend_samples_the_logits_of_its_own_device(
    tiny: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[Any]] = {}

    def keep(case: DeviceCase, rows: NDArray[np.float32]) -> Case:
        seen.setdefault(case.id, []).append(rows[-1, 7])
        return on_rows(case, rows)

    monkeypatch.setattr("sampler_parity.harness.checks.devices.on_rows", keep)
    chain: p.ChainSpec = [{"top_k": {"k": 40}}, {"dist": {"seed": 1}}]
    case = computed(tiny, chain, steps=3, history=HELLO)
    result = execute(case, [inside(name="first"), inside(Other(), name="other")])
    assert [*result.backends] == ["first", "other"]
    assert {b.verdict for b in result.backends.values()} == {"identical"}
    assert (result.steps, result.ok) == (3, True)
    assert seen["x"][1] - seen["x"][0] == pytest.approx(0.25)


class _Slips(NativeChain):
    """Selects the second candidate."""

    def apply(self, stage: int | None, candidates: Any) -> None:
        super().apply(stage, candidates)
        candidates.array.selected = 1


@pytest.mark.slow
def test_a_sampler_that_is_wrong_on_a_device_diverges_and_is_made_small(
    tiny: Path, inside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = computed(tiny, [{"top_k": {"k": 40}}, {"greedy": {}}], steps=2)
    right, wrong = inside(name="first"), inside(Other(), name="other")
    assert execute(case, [right, wrong]).ok
    monkeypatch.setattr("sampler_parity.harness.llama_cpp.worker.chain_type", lambda: _Slips)
    result = execute(case, [wrong])
    assert (result.backends["other"].verdict, result.backends["other"].step) == ("diverged", 0)
    record = counterexample([case], wrong, looks(result.backends["other"]), {}, 5.0)
    assert record.smaller is not None
    assert "rows" in record.smaller["logits"]


def test_figures_of_a_device_are_against_the_first(tiny: Path, inside: Any, tmp_path: Path) -> None:
    case = computed(tiny, [], logits={"keep": True})
    both = inside(name="first"), inside(Other(), name="other")
    figures = logits.run(case, ready(*both, artifacts=tmp_path))
    first, other = figures.backends["first"], figures.backends["other"]
    assert (figures.rows, figures.first) == (len(HELLO), "first")
    assert (first.difference, first.kl_max, first.top1) == (0.0, 0.0, len(HELLO))
    assert other.difference == pytest.approx(0.25)
    assert first.sha256 != other.sha256
    assert 0 < (other.kl_mean or 0) == pytest.approx((other.kl_max or 0) / len(HELLO))
    saved = [np.load(tmp_path / row_file("x", name)) for name in ("first", "other")]
    assert np.flatnonzero(saved[0] != saved[1]).tolist() == [7]


def test_a_device_without_logits_is_recorded_with_the_reason(tiny: Path, inside: Any) -> None:
    class Lazy(Worker):
        def decode(self, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
            super().decode(request, rows.copy())

    case = computed(tiny, [])
    lazy = inside(Lazy(), name="lazy")
    lazy.scratch.view(0, len(HELLO) * N_VOCAB, np.float32)[:] = 1  # what an older request left
    reason = "rejected: the logits after token 0 are missing or have a NaN"
    figures = logits.run(case, ready(inside(name="first"), lazy))
    assert figures.backends["lazy"] == LogitsFigures(failed=reason)
    figures = logits.run(case, ready(lazy, inside(name="first")))
    assert figures.backends["first"].difference is None  # there is nothing to compare with
    result = execute(computed(tiny, [{"greedy": {}}]), [lazy])
    assert (result.backends["lazy"].verdict, result.ok) == ("rejected", False)


def test_tokens_of_another_vocabulary_are_rejected(tiny: Path, inside: Any) -> None:
    unknown = p.DecodeRequest(model=str(tiny), n_vocab=N_VOCAB, tokens=[1, 4090], out=0)
    with pytest.raises(BackendFailure, match="has no token 4090, which the prompt holds"):
        inside(name="first").ask(unknown, p.DecodeReply)
    other = p.DecodeRequest(model=str(tiny), n_vocab=4096, tokens=[1], out=0)
    with pytest.raises(BackendFailure, match="a vocabulary of 320 tokens, expected 4096"):
        inside(name="first").ask(other, p.DecodeReply)


def test_divergence_is_in_nats_from_the_first() -> None:
    """p = 1/2, 1/2; q = 1/4, 3/4: KL = 1/2 ln(1/2 / 1/4) + 1/2 ln(1/2 / 3/4) = 1/2 ln(4/3)."""
    even = np.zeros((1, 2), np.float32)
    uneven = np.array([[0.0, math.log(3)]], np.float32)
    assert logits.divergence(even, uneven)[0] == pytest.approx(0.5 * math.log(4 / 3), rel=1e-6)
    assert logits.divergence(uneven, uneven)[0] == 0
    banned = np.array([[0.0, -np.inf]], np.float32)
    assert logits.divergence(banned, even)[0] == pytest.approx(math.log(2))
    assert logits.divergence(even, banned)[0] == math.inf


def test_largest_difference_is_absolute_and_zero_between_equal_infinities() -> None:
    a = np.array([[1.0, -np.inf, 4.0]], np.float32)
    assert logits.largest_difference(a, np.array([[1.5, -np.inf, 2.0]], np.float32)) == 2.0
    assert logits.largest_difference(a, np.array([[1.0, 0.0, 4.0]], np.float32)) == math.inf


def test_texts_part_at_the_first_token_that_differs() -> None:
    first = np.array([[1, 0, 0], [2, 1.5, 0], [0, 0, 9]], np.float32)
    other = first + np.float32(0.5)
    assert parted([0, 0, 2], first, [0, 1, 1], other) == Parted(
        step=1, token=1, first_token=0, margin=0.5, difference=0.5
    )
    assert parted([0, 0, 2], first, [0, 0, 2], other) is None


def test_a_case_of_computed_logits_takes_no_more_rows_than_tokens(tiny: Path) -> None:
    with pytest.raises(ValueError, match="steps: the prompt has only"):
        computed(tiny, [{"greedy": {}}], steps=len(HELLO) + 1)
    with pytest.raises(ValueError, match=r"devices.draws\n  Extra inputs are not permitted"):
        computed(tiny, [{"greedy": {}}], draws=3)


@pytest.mark.slow
def test_the_suite_has_every_sampler_on_every_golden_prompt() -> None:
    cases = expand(suites_folder() / "devices" / "logits.toml", "full")
    prompts = {tuple(c.logits.prompt) for c in cases if isinstance(c.logits, Computed)}
    assert len(prompts) == 24
    assert sum(case.check == "logits" for case in cases) == 24
    samplers = {sampler for case in cases for sampler in case.samplers}
    grammars = {"grammar", "grammar_lazy_patterns"}  # compare pieces, look at no logit
    biases = {"ignore_eos"}  # those of logit_bias
    assert samplers == set(Worker().hello().samplers) - grammars - biases


def decoded(folder: Path, name: str, shift: float) -> bundle.Bundle:
    """A bundle of two backends and two prompts; the second's logits lie apart by shift."""
    info = run_info("first", "second")
    absent = BackendInfo(command=["x"], unavailable="no driver")
    info = info.model_copy(update={"backends": info.backends | {"gpu": absent}})
    writer = create(folder / name, info)
    rows = {"first": np.zeros(4, np.float32), "second": np.full(4, shift, np.float32)}
    rows["second"][0] += np.float32(shift)
    figures = {
        backend: LogitsFigures(
            sha256=row.tobytes().hex(), difference=2 * float(row[1]),
            kl_max=0.5, kl_mean=0.25, top1=3,
        )
        for backend, row in rows.items()
    }  # fmt: skip
    for prompt in ("a", "b"):
        id = f"x/logits-{prompt}"
        facts: dict[str, Any] = {"model_sha256": "m", "prompt_sha256": prompt, "rows": 4}
        facts |= {"id": id, "first": "first", "kept": prompt == "a", "backends": figures}
        writer.append(DecodeResult.model_validate(facts))
        for backend, row in rows.items() if prompt == "a" else ():
            np.save(folder / name / "artifacts" / row_file(id, backend), row)
    part = Parted(step=4, token=1, first_token=2, margin=0.125, difference=0.25)
    texts = {"first": got(text_sha256="t"), "second": got(text_sha256="u", parted=part)}
    writer.append(case_result("text", texts, samplers=["greedy"]))
    writer.append(Footer(cases=1, steps=1, wall_s=1.0))
    return bundle.read_finished(folder / name)


def test_the_report_has_a_row_for_every_configuration(tmp_path: Path) -> None:
    report = report_of([decoded(tmp_path, "one", 0.5)])
    assert report.ok
    assert report.devices is not None
    first, second, gpu = report.devices.configurations
    assert (first.equal, first.compared, first.difference, first.parted) == (2, 2, 0.0, 0)
    assert (second.equal, second.rows, second.top1) == (0, 8, 6)
    assert (second.difference, second.kl_max, second.kl_mean) == (1.0, 0.5, 0.25)
    assert (second.texts, second.parted, second.earliest) == (1, 1, 4)
    assert (gpu.unavailable, gpu.prompts) == ("no driver", 0)
    (text,) = report.devices.parted
    assert (text.case, text.token, text.verdict) == ("text", 1, "identical")
    assert text.replay.endswith("--case text -b first -b second")
    assert report.devices.across == []
    for shown in (html(document(report)), markdown(document(report))):
        assert "Hardware configurations" in shown
        assert "no driver" in shown


def test_bundles_of_several_machines_are_compared_by_the_rows_that_they_keep(
    tmp_path: Path,
) -> None:
    report = report_of([decoded(tmp_path, "one", 0.5), decoded(tmp_path, "two", 0.25)])
    assert report.devices is not None
    first, second, _ = report.devices.across
    assert (first.base, first.bundle, first.backend) == ("one first", "two", "first")
    assert (first.prompts, first.equal, first.kept, first.difference) == (2, 2, 1, 0.0)
    # the logits of "second" are 0.5, 0.25, 0.25, 0.25; those of "first" all 0
    assert (second.equal, second.kept, second.top1, second.difference) == (0, 1, 1, 0.5)
    q = np.exp([0.5, 0.25, 0.25, 0.25])
    wanted = float((0.25 * np.log(0.25 / (q / q.sum()))).sum())
    assert second.kl_max == pytest.approx(wanted)
    assert "Across bundles" in html(document(report))
