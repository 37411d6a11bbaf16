"""A newer release of llama.cpp (scripts/follow): planted headers, sources and bundles."""

import ctypes
import subprocess
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp import builds
from sampler_parity.harness.llama_cpp.published import Offer
from sampler_parity.harness.llama_cpp.recorded import Build
from sampler_parity.reference.chronology import SEEN
from scripts.follow import __main__ as follow
from scripts.follow import sources, trial
from scripts.follow.edits import PACKAGES, SIGNATURES, Edited, Step, edit, exported, layout
from scripts.follow.page import Found, in_graph, page, sampler_of
from scripts.follow.sources import Argument, Sources, functions, prototypes, structures
from scripts.follow.structures import written_by
from tests.support.report_bundles import case, diverged, run_info, write_bundle

HEADER = (Path(__file__).parent / "follow/llama.h").read_text(encoding="utf-8")
CODE = (Path(__file__).parent / "follow/llama-sampler.cpp").read_text(encoding="utf-8")


def of(header: str = HEADER, code: str = CODE) -> Sources:
    return Sources(prototypes(header), structures(header), functions(code))


def test_a_header_is_read_without_its_comments() -> None:
    found = of()
    assert [*found.prototypes] == [
        f"llama_sampler_init_{name}" for name in ("greedy", "temp", "top_p", "penalties", "grammar")
    ]
    assert found.prototypes["llama_sampler_init_greedy"] == ()
    assert found.prototypes["llama_sampler_init_grammar"][:2] == (
        Argument("llama_vocab *", "vocab"),
        Argument("char *", "grammar_str"),
    )
    assert found.structures["llama_token_data"][0] == Argument("llama_token", "id")
    assert [*found.functions] == [
        "llama_sampler_dist", "llama_sampler_dist_apply", "llama_sampler_init_dist"
    ]  # fmt: skip


def test_the_layout_of_a_structure_is_that_of_c() -> None:
    fields = structures(HEADER)["llama_model_params"]
    # two pointers, two of 4 bytes, a pointer
    assert layout(fields) == {"n_gpu_layers": 16, "vocab_only": 32}
    assert layout((Argument("__int128", "x"), *fields)) is None
    assert layout(fields[:2]) is None


def test_only_a_changed_function_counts_and_a_comment_does_not() -> None:
    now = CODE.replace("// a comment", "// another").replace("draw(cur_p)", "draw(cur_p, 1)")
    assert sources.changed_functions(of(), of(code=now)) == {"llama_sampler_dist_apply": (1, 1)}


@pytest.mark.parametrize(
    ("function", "sampler"),
    [
        ("llama_sampler_dist_apply", "dist"),
        ("llama_sample_dist", "dist"),
        ("llama_sampler_init_mirostat_v2", "mirostat_v2"),
        ("llama_sampler_typical_apply", "typical_p"),
        ("llama_sampler_temp_ext_clone", "temp_ext"),
        ("llama_grammar_parser::parse_sequence", "grammar"),
        ("llama_sampler_chain_apply", ""),
        ("ring_buffer", ""),
    ],
)
def test_a_function_is_of_the_sampler_with_the_longest_name(function: str, sampler: str) -> None:
    assert sampler_of(function) == sampler
    assert in_graph("llama_sampler_dist_backend_apply")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return trial.copied(trial.ROOT, tmp_path)


def edited(tree: Path, before: str, now: str) -> tuple[Edited, dict[str, Any]]:
    """Follow b99999 from one header to another; return what was edited, and signatures.toml."""
    made = edit(tree, Step("b99999", "v0.5.0", "9.9.9", of(before), of(now)))
    return made, tomllib.loads((tree / SIGNATURES).read_text())


def whole() -> str:
    """Return a header with every initializer as the newest release of a tree takes it."""
    rows = tomllib.loads((trial.ROOT / SIGNATURES).read_text())
    types = {n: kind for kind, names in rows["arguments"].items() for n in names}
    lines = []
    for name, every in rows["samplers"].items():
        if "until" not in every[-1]:
            arguments = ", ".join(f"{types[a]} {a}" for a in every[-1]["arguments"])
            symbol = every[-1].get("symbol", name)
            lines.append(f"LLAMA_API void llama_sampler_init_{symbol}({arguments or 'void'});\n")
    offsets = rows["model_layout"][-1]
    pad = "".join(f"int32_t pad{i};\n" for i in range((offsets["vocab_only"] - 20) // 4))
    model = f"void * a; void * b; int32_t n_gpu_layers; {pad} bool vocab_only;"
    return f"{''.join(lines)}struct llama_model_params {{ {model} }};\n"


@pytest.mark.slow
def test_a_release_without_a_change_is_added_to_the_lists_alone(tree: Path) -> None:
    made, _ = edited(tree, whole(), whole())
    assert [line.partition(":")[0] for line in made.done] == ["reference/chronology.py", PACKAGES]
    assert (tree / SIGNATURES).read_text() == (trial.ROOT / SIGNATURES).read_text()
    assert 'SEEN = "b99999"' in (tree / "reference/chronology.py").read_text()
    assert tomllib.loads((tree / PACKAGES).read_text())["node-llama-cpp"]["b99999"] == "9.9.9"
    changed = [one for one in trial.patch(trial.ROOT, tree).splitlines() if one[:4] == "+++ "]
    assert changed == ["+++ b/harness/llama_cpp/packages.toml", "+++ b/reference/chronology.py"]


@pytest.mark.slow
def test_the_patch_of_the_edits_applies_to_a_tree(tree: Path, tmp_path: Path) -> None:
    edited(tree, whole(), whole().replace("(int32_t k)", "(int32_t k, uint32_t seed)"))
    (tmp_path / "edits.patch").write_text(trial.patch(trial.ROOT, tree))
    other = trial.copied(trial.ROOT, tmp_path / "other")
    subprocess.run(["git", "apply", str(tmp_path / "edits.patch")], cwd=other, check=True)
    assert trial.patch(tree, other) == ""


@pytest.mark.slow
def test_a_planted_signature_gets_a_row_from_its_release_on(tree: Path) -> None:
    now = whole().replace("float p, size_t min_keep", "float p, uint32_t seed, size_t min_keep", 1)
    made, tables = edited(tree, whole(), now)
    assert f"{SIGNATURES}: top_p(p, seed, min_keep) since b99999" in made.done
    assert tables["samplers"]["top_p"] == [
        {"arguments": ["p", "min_keep"], "until": SEEN},
        {"since": "b99999", "arguments": ["p", "seed", "min_keep"]},
    ]
    before = tomllib.loads((trial.ROOT / SIGNATURES).read_text())
    others = [{k: v for k, v in t["samplers"].items() if k != "top_p"} for t in (before, tables)]
    assert others[0] == others[1]


@pytest.mark.slow
def test_an_argument_that_changed_its_order_or_type_is_a_change(tree: Path) -> None:
    now = whole().replace("(float temp)", "(int32_t temp)")
    now = now.replace("void * vocab, float dry_mult", "void * model, float dry_mult")
    made, tables = edited(tree, whole(), now)
    assert [row["arguments"][0] for row in tables["samplers"]["dry"]][-2:] == ["vocab", "model"]
    # temp would be called with a whole number under a name of a float
    assert any("temp" in line and "int32_t temp" in line for line in made.left)
    assert tables["samplers"]["temp"] == [{"arguments": ["temp"], "until": SEEN}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "words"),
    [
        ("float sharpness, ", "takes `float sharpness`: add a name of this type to [arguments]"),
        ("llama_new * x, ", "takes `llama_new * x`, a type that TYPES of"),
    ],
)
def test_an_argument_without_a_value_is_left_to_a_person(
    tree: Path, added: str, words: str
) -> None:
    now = whole().replace("(float p, float t,", f"({added}float p, float t,")
    made, tables = edited(tree, whole(), now)
    assert any(f"xtc {words}" in line for line in made.left)
    assert tables["samplers"]["xtc"][-1]["until"] == SEEN  # it is not called on a guess


@pytest.mark.slow
def test_a_sampler_that_is_gone_ends_with_the_release_before(tree: Path) -> None:
    now = "\n".join(line for line in whole().splitlines() if "init_infill" not in line)
    made, tables = edited(tree, whole(), now)
    assert f"{SIGNATURES}: infill ends at {SEEN}, b99999 lacks it" in made.done
    assert tables["samplers"]["infill"][-1]["until"] == SEEN


@pytest.mark.slow
def test_a_layout_that_moved_gets_a_row_and_an_unknown_one_ends(tree: Path) -> None:
    grown = whole().replace("int32_t n_gpu_layers", "size_t more; int32_t n_gpu_layers")
    _, tables = edited(tree, whole(), grown)
    last = {"since": "b99999", "n_gpu_layers": 24, "vocab_only": 80}
    assert tables["model_layout"][-2]["until"] == SEEN
    assert tables["model_layout"][-1] == last


@pytest.mark.slow
def test_without_a_header_the_signatures_are_assumed_and_the_page_says_so(tree: Path) -> None:
    made = edit(tree, Step("v9.0.0", "v0.5.0", "", None, None))
    assert any("signatures as in v0.5.0 are assumed" in line for line in made.left)
    assert any("BUILDS" in line for line in made.left)


def planted(**more: Any) -> Found:
    fields: dict[str, Any] = {
        "release": "b99999",
        "before": "v0.5.0",
        "package": "node-llama-cpp@9.9.9",
        "facts": [],
        "edited": Edited(["harness/x.toml: done"], ["reference/y.py: left"]),
        "cases": 10,
        "causes": [],
    }
    return Found(**fields | more)


def test_a_page_with_nothing_to_decide_says_none_everywhere() -> None:
    text = page(planted(), trial.ROOT)
    assert text.startswith("# llama.cpp b99999, after v0.5.0\n")
    assert "0 differ, by 0 causes. 0 points need a decision, 0 functions are to be read." in text
    assert text.count("\nNone.\n") == 5
    assert "- harness/x.toml: done" in text
    assert "- reference/y.py: left" in text


def test_a_planted_signature_is_on_the_page_with_the_file_to_edit() -> None:
    header = HEADER.replace("float   t)", "float   t, int32_t k)").replace(
        "logit;", "logit; int b;"
    )
    changed = follow.changed_prototypes(of(), of(header))
    structure = sources.changed_fields(of(), of(header))
    text = page(planted(prototypes=changed, structures=structure), trial.ROOT)
    row = "| `llama_sampler_init_temp` | `(float t)` | `(float t, int32_t k)` |"
    assert row in text
    assert "| `llama_token_data` | - | `int b` |" in text
    assert "harness/llama_cpp/candidates.py" in text
    assert "2 points need a decision" in text


def test_a_function_that_the_harness_calls_is_on_the_page() -> None:
    old = HEADER + "LLAMA_API void llama_sampler_reset(struct llama_sampler * smpl);\n"
    changed = follow.changed_prototypes(of(old), of(old.replace("* smpl);", "* smpl, bool x);")))
    text = page(planted(prototypes=changed), trial.ROOT)
    assert "Edit `harness/llama_cpp/functions.toml`: `llama_sampler_reset`." in text


def test_a_new_sampler_is_on_the_page_with_its_prototype(tmp_path: Path) -> None:
    library = tmp_path / "libllama.so"
    library.write_bytes(b"x\0llama_sampler_init_top_p\0llama_sampler_init_fresh\0")
    assert exported(library) == {"llama_sampler_init_top_p", "llama_sampler_init_fresh"}
    header = HEADER + "LLAMA_API struct llama_sampler * llama_sampler_init_fresh(float f);\n"
    new = {"llama_sampler_init_fresh": follow.shown(of(header), "llama_sampler_init_fresh")}
    text = page(planted(new=new), trial.ROOT)
    assert "- `llama_sampler_init_fresh(float f)` has no model. Add\n" in text
    assert "`reference/samplers/fresh.py`, a row of `reference/registry.py`, `suites/" in text


def test_a_differing_case_is_on_the_page_by_its_cause_with_the_places_to_edit(
    tmp_path: Path,
) -> None:
    bad = diverged(stage="dist", what="token", values={"got": 1, "expected": 2})
    good = BackendResult(verdict="identical")
    new, old = "llama.cpp@b99999", "llama.cpp@v0.5.0"
    results = [
        case("dist/a", {new: bad, old: good}),
        case("dist/longer", {new: bad, old: bad}),
        case("dist/c", {new: good, old: bad}),
    ]
    write_bundle(tmp_path / "b", run_info(new, old), results, [])
    (cause,) = trial.causes(read(tmp_path / "b"), "b99999", "v0.5.0")
    assert (cause.stage, cause.what, cause.before) == ("dist", {"token": 2}, 1)
    assert cause.cases == ["dist/a", "dist/longer"]
    text = page(
        planted(
            causes=[cause],
            only_before=trial.only_before(read(tmp_path / "b"), "b99999", "v0.5.0"),
            functions={
                "llama_sampler_dist_apply": (1, 2),
                "llama_sampler_dist_backend_apply": (5, 6),
                "llama_sampler_xtc_apply": (3, 4),
            },
        ),
        trial.ROOT,
    )
    assert "### dist: diverged, 2 cases\n\nFirst: token in 2." in text
    assert "1 of them fail on v0.5.0, too." in text
    assert "1 cases fail on v0.5.0 alone: `dist/c`." in text
    assert "sampler-parity explain bundle dist/a" in text
    assert "Its source changed: `llama_sampler_dist_apply` (-1 +2)." in text
    assert "- `reference/samplers/dist.py`: the meaning of b99999" in text
    assert f'a row with last_old = "{SEEN}" and first_new = "b99999"' in text
    silent = text.partition("## Other functions that changed")[2]
    assert silent.startswith("\n\n`llama_sampler_xtc_apply` (-3 +4).")
    assert "In the graph, which was not run: `llama_sampler_dist_backend_apply` (-5 +6)." in text
    for path in ("reference/samplers/dist.py", "suites/parity/dist.toml"):
        assert (trial.ROOT / path).is_file()


def test_a_case_that_the_reference_fails_is_not_the_release_s(tmp_path: Path) -> None:
    good = BackendResult(verdict="identical")
    failed = case("dry/a", {"llama.cpp@b99999": good}, unmet="expected other ids")
    write_bundle(tmp_path / "b", run_info("llama.cpp@b99999"), [failed], [])
    (cause,) = trial.causes(read(tmp_path / "b"), "b99999", "v0.5.0")
    text = page(planted(causes=[cause]), trial.ROOT)
    assert "### no stage: identical, 1 cases" in text
    assert "    expected other ids\n" in text
    assert "- `suites/`: a case states a result" in text


def test_structures_of_two_builds_are_compared_by_their_bytes() -> None:
    """b11549 wrote 8 bytes more than v0.5.0 (tests/llama_cpp/test_builds.py)."""
    before, now = {"m": "0001", "c": "00010203"}, {"m": "0001", "c": "0001ff0203"}
    (changed,) = follow.differing_bytes(before, now)
    assert (changed.before, changed.now) == ("4 bytes", "5 bytes, the first other one at 2")
    text = page(planted(structures=[changed]), trial.ROOT)
    assert "| `c` | `4 bytes` | `5 bytes, the first other one at 2` |" in text
    assert "1 points need a decision" in text


def test_written_by_finds_the_size_of_a_structure() -> None:
    def write(address: int) -> int:
        ctypes.memset(address, 0, 4)
        ctypes.memset(address + 8, 1, 4)  # four bytes between are left alone
        return address

    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(write)
    assert written_by(function) == bytes(4) + b"\xee" * 4 + b"\x01" * 4


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def plant(*found: Offer) -> None:
        monkeypatch.setattr(follow, "offers", lambda: [*found])

    return plant


def test_the_newest_package_with_sources_is_followed(offered: Callable[..., None]) -> None:
    pip = Offer("xllamacpp", "2026.12.12000", "b12000", True)
    npm = Offer("node-llama-cpp", "3.23.0", "", True)
    offered(npm, pip)
    assert follow.newest() == "node-llama-cpp@3.23.0"
    offered(pip)
    assert follow.newest() == "xllamacpp@2026.12.12000"


def test_nothing_newer_is_one_line(
    offered: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    offered(Offer("xllamacpp", "2026.10.11549", "b11549", False))
    assert follow.main([]) == 0
    assert capsys.readouterr().out == f"nothing is newer than {SEEN}\n"


def test_a_registry_that_is_gone_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("npm")

    monkeypatch.setattr(subprocess, "run", gone)
    assert follow.main([]) == 2
    assert capsys.readouterr().err == "node-llama-cpp: its versions cannot be listed: npm\n"


def test_a_modelled_release_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build = Build(name="b4753", folder="x", release="b4753", sha256="0", added="2026-11-26")
    monkeypatch.setattr(builds, "add", lambda _: build)
    assert follow.main(["node-llama-cpp@3.6.0"]) == 0
    assert "has b4753, which is not newer than" in capsys.readouterr().out


def test_a_package_without_sources_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def pack(package: str, folder: Path) -> Path:
        with tarfile.open(folder / "a.tgz", "w:gz"):
            pass
        return folder / "a.tgz"

    monkeypatch.setattr(sources, "npm_pack", pack)
    with pytest.raises(InputError, match=r"^a\.tgz: its sources cannot be read: "):
        sources.fetched("9.9.9")
    assert not [*tmp_path.rglob("node-llama-cpp-*")]


@pytest.mark.nightly
def test_a_release_is_followed_from_its_package_to_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """v0.5.0 is taken for the newest release that is known."""
    monkeypatch.setattr(follow, "SEEN", "v0.5.0")
    assert follow.main(["xllamacpp@2026.10.11549", "-o", str(tmp_path)]) == 0
    text = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    assert text.startswith("# llama.cpp b11549, after v0.5.0\n")
    assert "`xllamacpp@2026.10.11549`" in text
