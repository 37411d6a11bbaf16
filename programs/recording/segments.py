"""Files of arrays: compressed, and in use. The compactor starts fast, so this imports little."""

import re
import zlib
from pathlib import Path

import numpy as np

LONGEST = 2**30  # bytes of a file of arrays: one apply is never parted


def packed(content: bytes) -> bytes:
    """Return the content of a finished file of arrays, compressed: the first bytes of all words,
    then the second ones, and so on. Exponents of logits are alike; their last bits are noise."""
    words = len(content) // 4 * 4
    shuffled = np.frombuffer(content[:words], np.uint8).reshape(-1, 4).T.tobytes()
    return len(content).to_bytes(8, "little") + zlib.compress(shuffled + content[words:], 1)


def unpacked(content: bytes) -> bytes:
    """Return what `packed` was given. Raises ValueError."""
    try:
        plain = zlib.decompressobj().decompress(content[8:], LONGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(plain) != int.from_bytes(content[:8], "little"):
        raise ValueError("its number of bytes does not match")
    words = len(plain) // 4 * 4
    return np.frombuffer(plain[:words], np.uint8).reshape(4, -1).T.tobytes() + plain[words:]


def is_alive(name: str) -> bool:
    """Return whether the process that a file is named after has not ended. A program may leave one
    that goes on."""
    return Path("/proc", re.split(r"[-.]", name)[0]).exists()
