"""Our programs in C and C++ that answer over a pipe: under a sanitizer, with wrong requests, and
with a memory that ends at each allocation in turn."""

import random
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np

from sampler_parity.engines.correct import c
from sampler_parity.engines.correct.program import HEAD
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.llama_cpp import sources
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA
from sampler_parity.harness.llama_cpp.compiled import flags
from sampler_parity.harness.llama_cpp.platforms import make, worker
from sampler_parity.harness.llama_cpp.platforms.program import encoded
from sampler_parity.harness.llama_cpp.recorded import Build
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference.chronology import NEWEST
from tests.attack.native.recordings import interposer
from tests.attack.native.sanitizers import (
    COMMON,
    FLAGS,
    SECONDS,
    WITHOUT_LEAKS,
    compiled,
    environment,
    report_of,
)
from tests.support.inside import Inside

PLATFORMS = Path(make.__file__).parent
ADAPTER = PLATFORMS.parents[1] / "cli" / "templates" / "adapter.c"
OF_C = (
    *("greedy", "dist", "top_k", "top_p", "min_p", "typical_p", "temp", "temp_ext", "xtc"),
    *("top_n_sigma", "mirostat", "mirostat_v2", "penalties", "dry", "adaptive_p"),
)
WORDS = b"-1 0 99 - x zz 2147483648 18446744073709551615 1e9 {".split(b" ")
SAID = ("out of memory", "Cannot allocate memory")


def platform_worker(folder: Path, vocabulary: str, *options: str) -> Path:
    """Compile worker.cpp. Raises AssertionError.

    vocabulary: "file", with the installed libllama; "table", with llama.cpp's sampler and grammar
    files.
    """
    tree, target = sources.sources(), folder / f"worker-{vocabulary}"
    files = [PLATFORMS / "worker.cpp", PLATFORMS / f"vocabulary_{vocabulary}.cpp"]
    includes = [f"-I{tree / place}" for place in ("include", "src", "ggml/include")]
    if vocabulary == "file":
        return compiled(target, files, *options, *includes, *flags(), "-lggml", "-lggml-base")
    never = folder / "never.o"
    compiled(never, [PLATFORMS / "never.c"], "-c")
    files += [tree / sources.SAMPLER, tree / sources.GRAMMAR, never]
    as_shipped = ("-DNDEBUG", "-Wno-deprecated-declarations")
    return compiled(target, files, *options, *as_shipped, *includes)


def candidates_of(n: int) -> bytes:
    data = np.zeros(n, TOKEN_DATA)
    data["id"], data["logit"] = np.arange(n), np.sin(np.arange(n))
    return data.tobytes()


def session_of_worker(vocabulary: str) -> list[bytes]:
    """Return requests that use every command and kind of argument."""
    if vocabulary == "file":
        n = len(read_vocab(vocab_path("spm")))
        vocab = f"vocab {encoded(bytes(vocab_path('spm')))}"
    else:
        n = 40
        texts = [f"x{chr(97 + i % 26).encode().hex()}" for i in range(n)]
        vocab = "vocab 1 -1 40 " + " ".join(
            f"{text} {text} 0 {int(i == 1)}" for i, text in enumerate(texts)
        )
    grammar = f"init grammar 1 {encoded(b'root ::= [a-z]+')} {encoded(b'root')}"
    half = encoded(np.float32(0.5))
    lines = [
        "hello", vocab, "init top_k 5", "init dist 7", "chain 1 2",
        f"init logit_bias {n} 2 2 3 {half} 4 {half}", f"init penalties {n} 4 {half} {half} {half}",
        f"init temp {half}", f"init dry 1 {half} {half} 2 4 2 x61 x62 2", grammar, "clone 3 4",
    ]  # fmt: skip
    rows = [f"apply 3 {n} -1 0", f"draw 3 9 {n} -1 0", f"apply 4 {n} -1 0"]
    answers = [line.encode() + b"\n" for line in lines]
    answers += [row.encode() + b"\n" + candidates_of(n) for row in rows]
    return [*answers, b"accept 4 3 4\n", b"reset 3 4\n", b"free 3 4 5 6 7 8 9 10\n"]


def session_of_c() -> list[bytes]:
    """Return one call of each sampler of c.cpp."""
    n, calls = 30, []
    numbers = {"mirostat": 6, "mirostat_v2": 6, "infill": 2}
    for name in OF_C:
        given = np.full(numbers.get(name, 4), 0.5)
        whole = (
            np.array([3, 1], np.int32) if name in ("penalties", "dry") else np.zeros(0, np.int32)
        )
        head = f"{name} {n} 0 -1 {len(given)} {len(whole)}".ljust(HEAD).encode()
        ids, logits = np.arange(n, dtype=np.int32), np.sin(np.arange(n, dtype=np.float32))
        arrays = (given, whole, ids, logits, np.zeros(n, np.float32))
        calls.append(head + b"".join(array.tobytes() for array in arrays))
    return calls


def session_of_adapter(folder: Path) -> list[bytes]:
    scratch = folder / "scratch"
    scratch.write_bytes(struct.pack("8f", *range(8)) + bytes(4000))
    run = (
        '{"do": "run", "detail": "stages", "chain": [{"temp": {"temp": 0.5}}, {"greedy": {}}],'
        ' "history": [1, 2], "rows": {"at": 0, "n": 8}, "out": 64, "instances": 1, "steps":'
        ' [{"row": 0, "instance": 0, "before": [["clone", 0]], "accept": "selected"},'
        ' {"row": 0, "instance": 1, "before": [["reset", 0]], "accept": null}]}'
    )
    name = "a\\u00e4\\ud83d\\ude00"
    hello = f'{{"do": "hello", "protocol": 1, "scratch": "{scratch}", "name": "{name}"}}'
    lines = [hello, run, '{"do": "else\\n"}', run, '{"do": "bye"}']
    return [line.encode() + b"\n" for line in lines]


@dataclass(frozen=True)
class Answered:
    status: int
    output: bytes
    errors: str

    @property
    def report(self) -> str:
        return report_of(self.errors)


def answered(program: Path, requests: Sequence[bytes], more: Mapping[str, str] = {}) -> Answered:
    done = subprocess.run(
        [program], input=b"".join(requests), capture_output=True, env=environment(more),
        timeout=SECONDS, check=False,
    )  # fmt: skip
    return Answered(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def without_memory(
    program: Path, requests: Sequence[bytes], folder: Path, most: int, seed: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield each allocation that fails, with what is wrong, or "": the program ends with an error
    and a line about it, or its answers are as always.

    most: how many are tried of each way, the first always.
    """
    count, rng = folder / "count", random.Random(seed)
    more = {"LD_PRELOAD": str(interposer("failing_memory")), "FAIL_COUNT": str(count)}
    for for_ever in ({}, {"FAIL_FOR_EVER": "1"}):
        count.write_bytes(bytes(8))
        whole = answered(program, requests, more | {"FAIL_NTH": "0"} | for_ever)
        assert whole.status == 0, whole.errors
        # C++ allocates first what its exceptions take without memory: without both none is thrown.
        first = 2 if for_ever else 1
        chosen = range(first, int.from_bytes(count.read_bytes(), sys.byteorder) + 1)
        for nth in sorted({first, *rng.sample(chosen, most)}) if most < len(chosen) else chosen:
            count.write_bytes(bytes(8))
            now = answered(program, requests, more | {"FAIL_NTH": str(nth)} | for_ever)
            yield nth, wrong(now, whole)


def wrong(now: Answered, whole: Answered) -> str:
    if now.status == 0:
        return "" if now.output == whole.output else "another answer, and no error"
    if now.status < 0:
        return f"dies of signal {-now.status}: {now.errors[-200:]}"
    if "error parsing grammar: std::bad_alloc" in now.errors:
        return ""  # llama.cpp refuses a grammar for which it has no memory
    if not whole.output.startswith(now.output[: now.output.rfind(b"\n") + 1]):
        return f"another answer before its error: {now.output[-200:]!r}"
    return "" if any(text in now.errors for text in SAID) else f"reports nothing: {now.errors!r}"


def damaged(requests: Sequence[bytes], rng: random.Random) -> list[bytes]:
    """Change requests as a wrong adapter or a wrong harness would.

    What the worker makes samplers of stays: llama.cpp gets it as it is, and checks little.
    """
    lines = list(requests)
    at = rng.choice([i for i, line in enumerate(lines) if not line.startswith(b"init ")])
    line = bytearray(lines[at])
    words = bytes(line[: line.find(b"\n") % (len(line) + 1)]).split(b" ")
    rest = bytes(line[len(b" ".join(words)) :])
    which = rng.randrange(len(words))
    match rng.randrange(6):
        case 0:  # cut short, and all after it is gone
            return [*lines[:at], bytes(line[: rng.randrange(len(line))])]
        case 1:
            del words[which]
        case 2:
            words[which] = rng.choice([*WORDS, b""])
        case 3:
            words.insert(which, words[which])
        case 4:
            del lines[at]
            return lines
        case 5:
            line[rng.randrange(len(line))] = rng.randrange(256)
            return [*lines[:at], bytes(line), *lines[at + 1 :]]
    return [*lines[:at], b" ".join(words) + rest, *lines[at + 1 :]]


def wrong_requests(program: Path, requests: Sequence[bytes], times: int, seed: int) -> Counter[int]:
    """Return how often the program ended with each status. Raises AssertionError if it died, or a
    sanitizer reported something; of the requests as they are also a leak."""
    rng, ends = random.Random(seed), Counter[int]()
    whole = answered(program, requests)
    assert whole.status == 0, whole.report or whole.errors[-300:]
    for _ in range(times):
        given = damaged(requests, rng)
        now = answered(program, given, WITHOUT_LEAKS)  # what no request frees stays to the end
        of_llama = "GGML_ASSERT" in now.errors or "GGML_ABORT" in now.errors
        assert not now.report, f"{given!r:.600}\n{now.report}"
        assert now.status >= 0 or of_llama, f"{now.status}: {given!r:.600}\n{now.errors[-300:]}"
        ends[now.status] += 1
    return ends


def cases_of(group: str, most: int, samplers: set[str] | None = None) -> list[Case]:
    """Return small cases of each suite of a group. most: of a suite. samplers: no others."""
    found: list[Case] = []
    for path in find_suites([group]):
        small = (
            case
            for case in expand(path, "quick")
            if isinstance(case, StagesCase) and case.logits.n <= 1024
        )
        found += islice((c for c in small if not samplers or {*c.samplers} <= samplers), most)
    return found


def judged(cases: list[Case], backend: Backend) -> Counter[Verdict]:
    """Return the verdicts of a backend. One in this process may not have died."""
    ended = Counter[Verdict]()
    for case in cases:
        result = execute(case, [backend]).backends[backend.name]
        assert result.verdict not in ("crashed", "timeout"), f"{case.id}: {result}"
        ended[result.verdict] += 1
    return ended


def suites_of_worker(program: Path) -> Counter[Verdict]:
    """Return the verdicts of llama.cpp's samplers in worker.cpp."""
    build = Build(
        name="sanitized", folder=str(program.parent), release=NEWEST, sha256="", added="",
        libraries={}, platform="linux-x64-gcc", program=program.name, runner="",
    )  # fmt: skip
    more = {name: value for name, value in environment().items() if "OPTIONS" in name}
    with (
        patch.object(worker, "unchanged", lambda name: None),
        patch.object(worker, "command_of", lambda name: (build, [str(program)], more)),
    ):
        made = worker.Worker("sanitized")
    cases = cases_of("parity", 2)
    try:
        return judged(cases, Inside(made))
    finally:
        made.program.close()


def suites_of_c(program: Path) -> Counter[Verdict]:
    """Return the verdicts of the engine correct/c."""
    with patch.object(c, "compiled", lambda: program):
        made = c.Worker()
    return judged(cases_of("parity", 1), Inside(made, name="correct/c"))


def suites_of_adapter(program: Path) -> Counter[Verdict]:
    """Return the verdicts of the template, which lacks the temperatures up to 0."""
    backend = BackendProcess("mine", [str(program)])
    try:
        cases = [
            case
            for name in ("temp", "greedy")
            for case in cases_of(f"parity/{name}", 9, {"temp", "greedy"})
        ]
        return judged(cases, backend)
    finally:
        backend.close()


def adapter(folder: Path, *options: str) -> Path:
    shutil.copy(ADAPTER, folder / "adapter.c")
    return compiled(folder / "adapter", [folder / "adapter.c"], *options, "-Wall", "-Wextra", "-lm")


def correct(folder: Path, *options: str) -> Path:
    return compiled(folder / "correct", [c.SOURCE], *options, "-ffp-contract=off")


def sanitized() -> tuple[str, ...]:
    return (*COMMON, *FLAGS["address"])
