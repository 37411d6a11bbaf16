"""Find the error in the output of a program that died: its error line, and the last lines.

Interpreters print more behind the error: Node.js its version, Rust a hint, all of them frames.
"""

import re

LINES = 20
BYTES = 1 << 14  # read from the end: 20 lines of frames have a few thousand

_FRAMES_OF_PYTHON = "Traceback (most recent call last)"
_PANIC_OF_RUST = re.compile(r"^thread .* panicked at (.*)$")
_ERRORS = (
    re.compile(r".*ASSERT"),  # GGML_ASSERT, ASSERT
    re.compile(r"^(panic|fatal error): "),  # Go
    re.compile(r"^\s*what\(\): "),  # C++
    re.compile(r"^.*ERROR: \w+Sanitizer"),
    re.compile(r"^(Uncaught |\S*: )?[\w.$]*(Error|Exception|Panic|Fault)\b.*"),
    re.compile(r"^(error|fatal)(\[\w+\])?: ", re.IGNORECASE),
)
_NOTHING = re.compile(r"^(Node\.js v[\d.]+|Bun v.*|note: .*|\W*)$")


def last_lines(output: bytes) -> list[str]:
    """Return the last lines of the output, without empty lines at both ends."""
    return output.decode(errors="replace").strip().splitlines()[-LINES:]


def error_line(lines: list[str]) -> str:
    """Return the line that names the error; if none does, the last one with content."""
    raised = _raised(lines) or _panicked(lines)
    if raised:
        return raised
    for pattern in _ERRORS:
        for line in reversed(lines):
            if pattern.match(line):
                return line.strip()
    return next((line.strip() for line in reversed(lines) if not _NOTHING.match(line)), "")


def _raised(lines: list[str]) -> str:
    """Return Python's error: the first line behind the frames of the last traceback."""
    starts = [i for i, line in enumerate(lines) if line.startswith(_FRAMES_OF_PYTHON)]
    behind = lines[starts[-1] + 1 :] if starts else []
    return next((line for line in behind if line and not line.startswith(" ")), "")


def _panicked(lines: list[str]) -> str:
    """Return Rust's panic: the line behind the place, or in old versions that line."""
    for i, line in reversed(list(enumerate(lines))):
        if match := _PANIC_OF_RUST.match(line):
            behind = lines[i + 1] if match[1].endswith(":") and i + 1 < len(lines) else ""
            return f"panicked at {match[1]} {behind}".strip()
    return ""
