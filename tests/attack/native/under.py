"""The compiled trie and the recorder under a sanitizer."""

import shutil
import subprocess
import sys
from pathlib import Path

from sampler_parity.harness.llama_cpp.compiled import SOURCES, flags
from sampler_parity.programs.recording import library as of_recorder
from sampler_parity.programs.recording.program import Options, variables
from tests.attack.native.sanitizers import (
    COMMON,
    FLAGS,
    SECONDS,
    WITHOUT_LEAKS,
    compiled,
    environment,
    output_of,
    report_of,
    runtime,
)

HERE = Path(__file__).parent
RECORDER = Path(of_recorder.__file__).parent / "native"
_LIBRARY = ["-fPIC", "-shared", "-fvisibility=hidden"]
# Not dlsym: a sanitizer calls it before it is ready itself.
_EXPORTS = "{ global: llama_*; _exit; _Exit; abort; exec*; fexecve; local: *; };\n"


def preloaded(sanitizer: str, *more: str) -> str:
    """Return LD_PRELOAD: the sanitizer first, then C++, whose exceptions it looks for."""
    command = ["c++", "-print-file-name=libstdc++.so.6"]
    cpp = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    return ":".join([runtime(sanitizer), cpp, *more])


def trie_model(folder: Path, seed: int, times: int, sources: Path = SOURCES) -> str:
    """Do random operations on the trie and on its model. Raises AssertionError."""
    made = [*_LIBRARY, *COMMON, *FLAGS["address"], *flags()]
    library = compiled(folder / "token_trie.so", [sources / "token_trie.cpp"], *made)
    words = [sys.executable, "-m", "tests.attack.native.trie_model", str(library)]
    # Python's own memory of its end is no leak of ours: trie_memory counts ours.
    more = WITHOUT_LEAKS | {"LD_PRELOAD": preloaded("address")}
    return output_of([*words, str(seed), str(times)], more)


def trie_memory(folder: Path, sources: Path = SOURCES, *, plain: bool = False) -> str:
    """Let each allocation of the trie fail. plain: without a sanitizer. Raises AssertionError."""
    options = [f"-I{sources}", *flags(), *([] if plain else [*COMMON, *FLAGS["address"]])]
    return output_of([compiled(folder / "trie_memory", [HERE / "trie_memory.cpp"], *options)])


def recorder_under(sanitizer: str, folder: Path, sources: Path = RECORDER) -> Path:
    """Compile the recorder for programs that are linked to libllama. Raises AssertionError."""
    exports = folder / "exports.map"
    exports.write_text(_EXPORTS)
    options = [*_LIBRARY, *COMMON, *FLAGS[sanitizer], f"-Wl,--version-script={exports}"]
    files = sorted(sources.glob("*.cpp"))
    return compiled(folder / f"recorder-{sanitizer}.so", files, *options, "-ldl", "-pthread")


def recorded(words: list[str], folder: Path, library: Path, sanitizer: str, status: int) -> str:
    """Record a program; return what is wrong with its end, or ""."""
    folder.mkdir()
    given = environment(variables(folder, Options(), library))
    given["LD_PRELOAD"] = preloaded(sanitizer, str(library))
    done = subprocess.run(words, env=given, capture_output=True, encoding="utf-8", timeout=SECONDS)
    if (report := report_of(done.stderr)) or done.returncode == status:
        return report
    return f"it ends with {done.returncode}: {done.stderr[-500:]}"


def planted(folder: Path, sources: Path, file: str, old: str, new: str) -> Path:
    """Copy sources with a fault in one of them."""
    copy = Path(shutil.copytree(sources, folder / "planted"))
    text = (copy / file).read_text()
    assert text.count(old) == 1, old
    (copy / file).write_text(text.replace(old, new))
    return copy
