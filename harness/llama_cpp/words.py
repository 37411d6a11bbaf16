"""The messages of llama.cpp when it refuses something: its log and its output to stderr.

They are read by asking once more: until then stderr is the one that the harness reads, so the last
output of a process that dies is there.
"""

import os
import tempfile
from collections import deque
from collections.abc import Callable

_ERROR = 4  # GGML_LOG_LEVEL_ERROR
_MOST = 4096  # bytes of stderr
logged: deque[str] = deque(maxlen=8)


def keep_error(level: int, text: bytes, _data: object) -> None:
    """Store the last errors and drop the rest: a log callback."""
    if level == _ERROR:
        logged.append(text.decode(errors="replace"))


def words_of(refused: Callable[[], object]) -> str:
    """Call what llama.cpp has just refused again, and return its messages in one line of at most
    300 characters."""
    logged.clear()
    stderr = os.dup(2)
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                refused()
            finally:
                os.dup2(stderr, 2)
            file.seek(0)
            printed = file.read(_MOST)
    finally:
        os.close(stderr)
    text = " ".join(" ".join([printed.decode(errors="replace"), *logged]).split())
    return text[:300]
