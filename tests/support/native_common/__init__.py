"""llama.cpp's common_sampler, driven through a C++ program that is compiled on the spot.

scripts/llama_common.py compiles libllama-common, next to a second libllama and libllama's header.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from sampler_parity.harness.inputs.vocabularies import vocab_path
from sampler_parity.harness.llama_cpp import recorded
from sampler_parity.harness.llama_cpp.libllama import default_folder
from sampler_parity.reference import Candidates
from sampler_parity.reference.pipelines.common_rejection import Proposal
from sampler_parity.reference.pipelines.common_sampler import Output, SamplingParams

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
DRIVER = "common_sampler_driver"
# common_sampler_type, and what the fields of SamplingParams are called there
TYPES = {
    "dry": 1, "top_k": 2, "top_p": 3, "min_p": 4, "typ_p": 6, "temperature": 7, "xtc": 8,
    "infill": 9, "penalties": 10, "top_n_sigma": 11, "adaptive_p": 12,
}  # fmt: skip
# What common_params_sampling::print calls the other fields.
PRINTED = {
    "repeat_last_n": "penalty_last_n", "repeat_penalty": "penalty_repeat",
    "frequency_penalty": "penalty_freq", "presence_penalty": "penalty_present",
    "typical_p": "typ_p", "mirostat_lr": "mirostat_eta", "mirostat_ent": "mirostat_tau",
}  # fmt: skip
UNKNOWN = 5  # what no sampler is called
_NOT_SENT = {"ignore_eos"}  # common_sampler_init does not look at it


class NativeError(Exception):
    """A C++ exception, or the end of the program."""


@dataclass(frozen=True)
class Budget:
    """state: REASONING_BUDGET_*; end_match: None if there is none."""

    state: int
    end_match: tuple[int, ...] | None


def kept_programs(library: Path | None = None) -> Path:
    """Return the folder of programs compiled of these sources for this library (libllama-common).

    To compile takes seconds, and every process of every test run needs them. Other bytes have
    another folder.
    """
    library = library or default_folder().parent.parent / "lib" / "libllama-common.so"
    digest = hashlib.sha256(str(library).encode())
    for path in [*sorted(path for path in HERE.iterdir() if path.is_file()), library]:
        digest.update(path.read_bytes())
    folder = ROOT / "build" / "tests" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compile_driver(folder: Path, instead: Sequence[str | Path] = ()) -> Path:
    """Compile the program, once per folder.

    Raises CalledProcessError if libllama-common is missing.

    instead: sources, objects and options of functions that take precedence over the library's.
    """
    packages = default_folder().parent.parent
    program, libraries = folder / DRIVER, packages / "lib"
    if program.exists():
        return program
    part = program.with_suffix(f".{os.getpid()}")  # others may compile it, too
    subprocess.run(
        [
            "g++", "-std=c++17", "-o", part, HERE / "driver.cpp", *instead,
            "-I", packages / "include", "-L", libraries,
            "-lllama-common", "-lllama", "-lggml-base",
            # the old kind of path is also searched for what libllama-common needs
            "-Wl,--disable-new-dtags", f"-Wl,-rpath,{libraries}",
        ],
        check=True,
    )  # fmt: skip
    return part.replace(program)


def stub_of_python(folder: Path, library: Path) -> Path:
    """Compile libpython_stub.so: empty symbols for all that a Python extension asks of Python."""
    asked = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in asked.stdout.splitlines()]
    stubs = "".join(f"void *{name}[64];\n" for name in names if name.startswith(("Py", "_Py")))
    (folder / "stub.c").write_text(stubs)
    stub = folder / "libpython_stub.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", stub, folder / "stub.c"], check=True)
    return stub


def compile_driver_of_build(folder: Path, build: Path) -> Path:
    """Compile the program for one library that holds all of llama.cpp and is a Python extension.

    Symbols that it asks of Python are empty, and strings are those of manylinux2014 (its older
    ABI).
    """
    program = folder / f"{DRIVER}_{build.name}"
    if program.exists():
        return program
    made = Path(tempfile.mkdtemp(dir=folder))  # others may make them, too
    stub = stub_of_python(made, build / "libllama.so")
    stub.replace(folder / stub.name)
    subprocess.run(
        [
            "g++", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0",
            "-o", made / DRIVER, HERE / "driver.cpp",
            "-I", default_folder().parent.parent / "include", "-L", build, "-lllama",
            "-L", folder, "-lpython_stub", f"-Wl,-rpath,{build}:{folder}",
        ],
        check=True,
    )  # fmt: skip
    return (made / DRIVER).replace(program)


class Driver:
    """A running program. Samplers and budgets go by numbers that the caller chooses."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )

    def ask(self, command: str, *values: object) -> list[str]:
        """Return the words of the answer. Raises NativeError."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join([command, *map(_written, values)]) + "\n")
        self.process.stdin.flush()
        status, _, answer = self.process.stdout.readline().rstrip("\n").partition(" ")
        if status == "ok":
            return answer.split()
        if status == "error":
            raise NativeError(answer)
        _, output = self.process.communicate()
        raise NativeError(f"ended with {self.process.returncode}: {output.strip()}")

    def close(self) -> None:
        """Close its input, so that it ends normally and a profiler's counts are kept."""
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def start(self, vocab: Path, suppress: Sequence[int] = ()) -> int:
        """Forget all samplers; n_vocab of the vocabulary, a GGUF file."""
        return int(self.ask("start", str(vocab), list(suppress))[0])

    def init(
        self,
        sampler: int,
        params: SamplingParams,
        *,
        grammar: str = "",
        grammar_type: int = 1,
        triggers: Sequence[tuple[int, str, int]] = (),
        generation_prompt: str = "",
        backend_sampling: bool = False,
    ) -> tuple[str, str]:
        """Return common_sampler_print and common_params_sampling::print."""
        fields = _fields(params)
        if grammar:
            fields += [Word("grammar"), grammar_type, grammar]
        if triggers:
            words = [Word(f"{kind} {_written(text)} {token}") for kind, text, token in triggers]
            fields += [Word("grammar_triggers"), words]
        if backend_sampling:
            fields += [Word("backend_sampling"), True]
        if generation_prompt:
            fields += [Word("generation_prompt"), generation_prompt]
        chain, values = self.ask("init", sampler, *fields)
        return _text(chain).decode(), _text(values).decode()

    def outputs(self, outputs: Sequence[Output]) -> None:
        words: list[object] = [len(outputs)]
        for o in outputs:
            words += [-1 if o.token is None else o.token, _list(o.ids), _list(o.logits), _list(o.p)]
        self.ask("outputs", *words)

    def sample(self, sampler: int, output: Output, grammar_first: bool = False) -> int:
        self.outputs([output])
        return int(self.ask("sample", sampler, grammar_first)[0])

    def sample_and_accept_n(
        self, sampler: int, outputs: Sequence[Output], draft: Sequence[int], grammar_first: bool
    ) -> list[int]:
        self.outputs(outputs)
        return [int(word) for word in self.ask("sample_n", sampler, list(draft), grammar_first)[1:]]

    def sample_and_accept_n_rejection(
        self,
        sampler: int,
        outputs: Sequence[Output],
        draft: Sequence[int],
        draft_q: Sequence[Proposal],
        grammar_first: bool = False,
    ) -> list[int]:
        self.outputs(outputs)
        rows = _proposals(draft_q)
        words = self.ask("sample_n_rejection", sampler, list(draft), rows, grammar_first)
        return [int(word) for word in words[1:]]

    def rounds(
        self,
        rejection: bool,
        params: SamplingParams,
        outputs: Sequence[Output],
        seeds: Sequence[int],
        drafts: Sequence[Sequence[int]],
        draft_q: Sequence[Proposal],
        history: Sequence[int],
    ) -> list[list[int]]:
        """Return the tokens of one round with each seed and draft."""
        self.outputs(outputs)
        words = map(int, self.ask(
            "rounds", rejection, list(seeds), [list(draft) for draft in drafts],
            _proposals(draft_q), list(history), *_fields(params),
        ))  # fmt: skip
        return [[next(words) for _ in range(n)] for n in words]

    def candidates(self, sampler: int, do_sort: bool) -> Candidates:
        return _candidates(self.ask("candidates", sampler, do_sort))

    def prev_str(self, sampler: int, n: int) -> bytes:
        return _text(self.ask("prev_str", sampler, n)[0])

    def accepted_by_grammar(self, sampler: int) -> list[int]:
        return [int(word) for word in self.ask("grammar", sampler)[1:]]

    def triggers(self) -> tuple[list[str], list[int]]:
        """Return the patterns and tokens that trigger the latest lazy grammar."""
        n, *words = self.ask("triggers")
        patterns = [_text(word).decode() for word in words[: int(n)]]
        return patterns, [int(word) for word in words[int(n) + 1 :]]

    def budget_of(self, sampler: int) -> Budget | None:
        exists, *rest = self.ask("budget_of", sampler)
        return _budget(rest) if exists == "1" else None

    def types(self, command: str, argument: object) -> list[tuple[str, int, str]]:
        """Name, number and letter of the samplers: from_names of a list, from_chars of a text."""
        words = self.ask(command, argument)[1:]
        threes = zip(words[::3], words[1::3], words[2::3], strict=True)
        return [(_text(name).decode(), int(number), letter) for name, number, letter in threes]

    def budget_apply(self, budget: int, logits: Sequence[float]) -> Candidates:
        return _candidates(self.ask("budget_apply", budget, list(logits)))

    def budget_state(self, budget: int) -> Budget:
        return _budget(self.ask("budget_state", budget))


@contextmanager
def driving(release: str = "v0.5.0") -> Iterator[Driver]:
    """Yield a driver that was started with the vocabulary bpe.

    release: the installed libllama-common, or b11549, a later build from another packager, without
    which the test is skipped.
    """
    if release == "v0.5.0":
        program = compile_driver(kept_programs())
    else:
        build = recorded.find(release)
        if build is None:
            pytest.skip("`sampler-parity builds add xllamacpp@2026.10.11549` fetches it")
        library = Path(build.folder) / "libllama.so"
        program = compile_driver_of_build(kept_programs(library), library.parent)
    driver = Driver(program)
    try:
        driver.start(vocab_path("bpe"))
        yield driver
    finally:
        driver.close()


def same(reference: Candidates, native: Candidates) -> None:
    """Assert that both are equal to the bit, except for the sign of a NaN."""
    assert (reference.selected, reference.sorted) == (native.selected, native.sorted)
    np.testing.assert_array_equal(reference.ids, native.ids)
    for ours, theirs in (reference.logits, native.logits), (reference.p, native.p):
        number = ~np.isnan(theirs)
        assert np.array_equal(np.isnan(ours), ~number)
        assert ours[number].tobytes() == theirs[number].tobytes()


def _fields(params: SamplingParams) -> list[object]:
    """Return the names and values of parameters that the program reads."""
    fields: list[object] = []
    for name, value in vars(params).items():
        if name in _NOT_SENT:
            continue
        sent: object = value
        if name == "samplers":
            sent = [TYPES.get(sampler, UNKNOWN) for sampler in value]
        elif name == "logit_bias":
            pairs = [f"{token} {float(bias).hex()}" for token, bias in value]
            sent = Word(" ".join([str(len(pairs)), *pairs]))
        fields += [Word(name), sent]
    return fields


def _proposals(rows: Sequence[Proposal]) -> list[list["Word"]]:
    return [[Word(f"{token} {float(p).hex()}") for token, p in row] for row in rows]


class Word(str):
    """A part of the command that is sent unchanged, not as a quoted text."""


def _written(value: object) -> str:
    if isinstance(value, Word):
        return value
    if isinstance(value, str):
        return "x" + value.encode().hex()
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return value.hex()
    assert isinstance(value, Iterable)
    items = list(value)
    return " ".join([str(len(items)), *map(_written, items)])


def _list(values: ArrayLike | None) -> list[Any]:
    return [] if values is None else np.asarray(values).tolist()


def _text(word: str) -> bytes:
    return bytes.fromhex(word[1:])


def _candidates(words: list[str]) -> Candidates:
    selected, is_sorted, n = map(int, words[:3])
    table = np.array(words[3:], np.int64).reshape(n, 3)
    values = table[:, 1:].astype(np.uint32).view(np.float32)
    ids = table[:, 0].astype(np.int32)
    return Candidates(ids, values[:, 0], values[:, 1], bool(is_sorted), selected)


def _budget(words: list[str]) -> Budget:
    tokens = tuple(int(word) for word in words[3:])
    return Budget(int(words[0]), tokens if words[1] == "1" else None)
