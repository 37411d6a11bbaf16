"""The messages of llama.cpp when it refuses something: its log and its output to stderr.

stderr is read back only if it is a file, as for a worker. The last output of a process that dies
stays there.
"""

import os
import stat
from collections import deque

_ERROR = 4  # GGML_LOG_LEVEL_ERROR
logged: deque[str] = deque(maxlen=8)


def keep_error(level: int, text: bytes, _data: object) -> None:
    """Keep the last errors and drop the rest: a log callback."""
    if level == _ERROR:
        logged.append(text.decode(errors="replace"))


class Listener:
    """Notes the end of the log and of stderr when it is made."""

    def __init__(self) -> None:
        logged.clear()
        self._is_file = stat.S_ISREG(os.fstat(2).st_mode)
        self._at = os.fstat(2).st_size if self._is_file else 0

    def words(self) -> str:
        """Return the messages since then, in one line of at most 300 characters."""
        printed = b""
        if self._is_file:
            try:
                printed = os.pread(2, 4096, self._at)
            except OSError:  # not open for reading
                printed = b""
        text = " ".join(" ".join([printed.decode(errors="replace"), *logged]).split())
        return text[:300]
