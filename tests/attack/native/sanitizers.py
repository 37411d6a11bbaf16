"""Programs and libraries under a sanitizer of GCC or Clang."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMON = ["-O1", "-g", "-fno-omit-frame-pointer"]
FLAGS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}
_RUNTIME = {"address": "libasan.so", "thread": "libtsan.so"}
_REPORT = re.compile(
    r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|terminate called"
)
# A request for more than this is refused with std::bad_alloc, as without memory. Limits of the
# address space do not fit a sanitizer.
_OPTIONS = {
    "ASAN_OPTIONS": "max_allocation_size_mb=2000:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0",
}
WITHOUT_LEAKS = {"ASAN_OPTIONS": f"{_OPTIONS['ASAN_OPTIONS']}:detect_leaks=0"}
SECONDS = 300.0  # that a program may take


def unavailable(sanitizer: str) -> str:
    """Return why programs cannot be made or run with a sanitizer, in one line, or ""."""
    if shutil.which("c++") is None:
        return "there is no C++ compiler, no `c++` on the path: apt-get install g++"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "nothing.cpp"
        source.write_text("int main() {}")
        program = Path(folder) / "nothing"
        command = ["c++", *FLAGS[sanitizer], str(source), "-o", str(program)]
        made = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if made.returncode:
            return f"`{' '.join(command[:2])}` fails: {made.stderr.strip().splitlines()[-1]}"
        done = subprocess.run([program], capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        return f"a program with {FLAGS[sanitizer][0]} ends with {done.returncode}: {done.stderr!r}"
    return "" if runtime(sanitizer) else f"the compiler has no {_RUNTIME[sanitizer]} to preload"


def runtime(sanitizer: str) -> str:
    """Return the library that stands before all others; "" where the compiler has none."""
    command = ["c++", f"-print-file-name={_RUNTIME[sanitizer]}"]
    name = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    return name if "/" in name else ""


def compiled(target: Path, files: Sequence[Path], *options: str) -> Path:
    """Compile C or C++. Raises AssertionError with the compiler's errors."""
    is_c = all(file.suffix == ".c" for file in files)
    command = ["cc", "-std=c99"] if is_c else ["c++", "-std=gnu++17"]
    command += [*map(str, files), *options, "-o", str(target)]
    made = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    return target


def environment(more: Mapping[str, str] = {}) -> dict[str, str]:
    return {**os.environ, **_OPTIONS, "GGML_NO_BACKTRACE": "1", **more}


def report_of(text: str) -> str:
    """Return the report of a sanitizer, from its first line on, shortened; "" without one."""
    found = _REPORT.search(text)
    return text[found.start() :][:1500] if found else ""


def output_of(words: Sequence[str | Path], more: Mapping[str, str] = {}) -> str:
    """Run a program; return what it prints. Raises AssertionError if it fails."""
    done = subprocess.run(
        words, env=environment(more), capture_output=True, encoding="utf-8", timeout=SECONDS
    )
    report = report_of(done.stderr) or done.stderr[-1500:]
    assert done.returncode == 0, f"it ends with {done.returncode}: {done.stdout}{report}"
    return done.stdout.strip()
