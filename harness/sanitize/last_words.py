"""What a program printed before it died: which line of it names the error, and the last lines.

An interpreter prints much behind the error: Node.js its version, Rust a hint, all of them frames.
"""

import re

LINES = 20
BYTES = 1 << 14  # of the end that is looked at: 20 lines of frames have a few thousand

_FRAMES_OF_PYTHON = "Traceback (most recent call last)"
_PANIC_OF_RUST = re.compile(r"^thread .* panicked at (.*)$")
_SAYS = (
    re.compile(r".*ASSERT"),  # GGML_ASSERT, ASSERT
    re.compile(r"^(panic|fatal error): "),  # Go
    re.compile(r"^\s*what\(\): "),  # C++
    re.compile(r"^.*ERROR: \w+Sanitizer"),
    re.compile(r"^(Uncaught |\S*: )?[\w.$]*(Error|Exception|Panic|Fault)\b.*"),
    re.compile(r"^(error|fatal)(\[\w+\])?: ", re.IGNORECASE),
)
_NOTHING = re.compile(r"^(Node\.js v[\d.]+|Bun v.*|note: .*|\W*)$")


def last_lines(said: bytes) -> list[str]:
    """The last of what was printed, without empty lines at both ends."""
    return said.decode(errors="replace").strip().splitlines()[-LINES:]


def error_line(lines: list[str]) -> str:
    """The line that names the error; where none looks like it, the last that says something."""
    raised = _raised(lines) or _panicked(lines)
    if raised:
        return raised
    for says in _SAYS:
        for line in reversed(lines):
            if says.match(line):
                return line.strip()
    return next((line.strip() for line in reversed(lines) if not _NOTHING.match(line)), "")


def _raised(lines: list[str]) -> str:
    """Python's: the first line behind the frames of the last traceback."""
    starts = [i for i, line in enumerate(lines) if line.startswith(_FRAMES_OF_PYTHON)]
    behind = lines[starts[-1] + 1 :] if starts else []
    return next((line for line in behind if line and not line.startswith(" ")), "")


def _panicked(lines: list[str]) -> str:
    """Rust's: the line behind the place, or in old versions that line itself."""
    for i, line in reversed(list(enumerate(lines))):
        if place := _PANIC_OF_RUST.match(line):
            behind = lines[i + 1] if place[1].endswith(":") and i + 1 < len(lines) else ""
            return f"panicked at {place[1]} {behind}".strip()
    return ""
