"""What llama.cpp says when it refuses something: its log, and what it prints to stderr.

stderr is read back only where it is a file, as a worker's is; so what a process says as it dies
stays there for whoever looks.
"""

import os
import stat
from collections import deque

_ERROR = 4  # GGML_LOG_LEVEL_ERROR
logged: deque[str] = deque(maxlen=8)


def keep_error(level: int, text: bytes, _data: object) -> None:
    """A log callback that keeps the last errors and drops the rest."""
    if level == _ERROR:
        logged.append(text.decode(errors="replace"))


class Listener:
    """Notes where log and stderr stand when it is made."""

    def __init__(self) -> None:
        logged.clear()
        self._is_file = stat.S_ISREG(os.fstat(2).st_mode)
        self._at = os.fstat(2).st_size if self._is_file else 0

    def words(self) -> str:
        """What was said since, in one line of at most 300 characters."""
        printed = b""
        if self._is_file:
            try:
                printed = os.pread(2, 4096, self._at)
            except OSError:  # not open for reading
                printed = b""
        said = " ".join(" ".join([printed.decode(errors="replace"), *logged]).split())
        return said[:300]
