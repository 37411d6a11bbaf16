"""Texts that people write: suites, policies, prompts, grammars, leaves, names and options."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from sampler_parity.harness.backends.registry import command_of, references
from sampler_parity.harness.cli.fuzz import seconds_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.explanations import explanation_files, read_explanations
from sampler_parity.harness.gate.policy import read_policy
from sampler_parity.harness.gate.statement import difference
from sampler_parity.harness.inputs.fixtures import read_manifest
from sampler_parity.harness.llama_cpp import build_files, recorded
from sampler_parity.harness.run import campaign
from sampler_parity.harness.suite.file import expand, expand_kind, read_suite
from sampler_parity.harness.suite.ids import shipped as shipped_suites
from sampler_parity.harness.trie.workloads import read_descriptor
from sampler_parity.maintenance.golden.capture import read_prompts
from sampler_parity.reference import ChainError
from sampler_parity.reference.grammar import parse
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import BINARY, JSON, TEXT
from tests.support.tries import SEED, payload

SAMPLES = Path(__file__).with_name("samples")
_SHIPPED = ["parity/draws", "parity/unseeded", "parity/infill", "throughput/throughput"]
_SHIPPED += ["distribution/coupled", "distribution/independence", "draws/akunu", "devices/logits"]
_ELF = b"\x7fELF\x02\x01\x01" + bytes(11) + (62).to_bytes(2, "little") + bytes(100)


def sampled(*globs: str) -> Callable[[Path], list[bytes]]:
    """Return a function that reads the files in samples/."""
    files = [path for glob in globs for path in sorted(SAMPLES.glob(glob))]
    return lambda _folder: [path.read_bytes() for path in files]


_GRAMMARS = sampled("repetitions.gbnf", "rules.gbnf", "nested.gbnf")


def _suites(folder: Path) -> list[bytes]:
    shipped = [shipped_suites()[name].read_bytes() for name in _SHIPPED]
    return sampled("suites/*.toml")(folder) * 3 + shipped


def _names(_folder: Path) -> list[bytes]:
    return (SAMPLES / "names.txt").read_bytes().splitlines()


def _expand(path: Path) -> None:
    """Expand a suite as `run --plan` does."""
    suite = read_suite(path)
    expand(suite, "quick")
    for kind in ("distribution", "timing", "throughput", "skip_ratio"):
        expand_kind(kind, suite, "full")


def _grammar(path: Path) -> None:
    parse(path.read_bytes())


def _leaves(_folder: Path) -> list[bytes]:
    return [SEED.encode(), payload([1, 2], [1, 3], [4]).encode()]


def _read_leaves(path: Path) -> None:
    read_descriptor(str(path), "m", lambda text: list(text.encode()))


def _campaign(path: Path) -> None:
    campaign.write_findings(campaign.read(path.parent), path.parent / "findings.toml")


def _build(path: Path) -> None:
    home = path.parent / "sampler-parity" / "builds" / "x"
    home.mkdir(parents=True, exist_ok=True)
    (home / "build.json").write_bytes(path.read_bytes())
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(path.parent)}):
        recorded.find("x")


def _statement(path: Path) -> None:
    """Read a statement as `gate --verify` does."""
    difference(path, (SAMPLES / "statement.json").read_text())


def _name(path: Path) -> None:
    """Read the text as a backend's name and as a time."""
    name = os.fsdecode(path.read_bytes())
    with contextlib.suppress(InputError):
        command_of(name)
    with contextlib.suppress(InputError):
        references([name], "own")
    with contextlib.suppress(InputError):
        references(["reference"], name)
    with contextlib.suppress(InputError):
        seconds_of(name)


INPUTS = [
    Fuzzed("suite", "s.toml", _suites, _expand, TEXT, 60),
    Fuzzed("policy", "gate.toml", sampled("policy.toml", "subject.toml"), read_policy, TEXT),
    Fuzzed("statement", "s.json", sampled("statement.json"), _statement, JSON),
    Fuzzed(
        "explanations",
        "e.toml",
        lambda _: [path.read_bytes() for path in explanation_files()],
        read_explanations,
        TEXT,
        30,
    ),
    Fuzzed(
        "manifest",
        "manifest.toml",
        sampled("manifest.toml"),
        lambda p: read_manifest(p.parent),
        TEXT,
    ),
    Fuzzed("prompts", "p.jsonl", sampled("prompts.jsonl"), read_prompts, JSON),
    Fuzzed("prompts, plain", "p.txt", lambda _: [b"hello\nworld\n\n x\n"], read_prompts, TEXT),
    Fuzzed("grammar", "g.gbnf", _GRAMMARS, _grammar, TEXT, refusals=(ChainError,)),
    Fuzzed("leaves", "l.json", _leaves, _read_leaves, JSON),
    Fuzzed("campaign", "chunks.jsonl", sampled("chunks.jsonl"), _campaign, JSON),
    Fuzzed("build", "build.json", sampled("build.json"), _build, JSON),
    Fuzzed("name", "name", _names, _name, TEXT),
    Fuzzed(
        "library", "libllama.so", lambda _: [_ELF], lambda p: build_files.check(p.parent), BINARY
    ),
]
