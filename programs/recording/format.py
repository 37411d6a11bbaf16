"""The files of a recording: lines with a chained digest, arrays, and a sum of candidates.

A line ends with `,"#":"8 hex digits"}`: the CRC-32 (zlib's) of all lines so far, each without that
ending. An array stands in PID.NNNN.arrays before the line that refers to it is written.
"""

import json
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # it is loaded into programs that have numpy alone: engines/shared/hook
    from sampler_parity.programs.recording.events import Array, Form

LISTED = 2048  # the longest list of survivors that --detail survivors writes
SEGMENT = 64 * 2**20  # bytes of a file of arrays
STRIDE = 16  # one candidate in so many is in the sum of a longer list

_FACTOR = 6364136223846793005  # Knuth's multiplier, MMIX
_LANES = 8
_WORD = 2**64


class Lists(NamedTuple):
    """The candidates of a recorded array: int32[n], float32[n], float32[n]. p is 0 if it is not
    recorded."""

    ids: NDArray[np.int32]
    logits: NDArray[np.float32]
    p: NDArray[np.float32]


def line_of(fields: dict[str, object], chain: int) -> tuple[bytes, int]:
    """Return the line of an event, and the digest of all lines so far. chain: that of the lines
    before."""
    text = json.dumps(fields, separators=(",", ":"), allow_nan=False)[:-1].encode()
    chain = zlib.crc32(text, chain)
    return text + f',"#":"{chain:08x}"}}\n'.encode(), chain


def checked(line: bytes, chain: int) -> tuple[dict[str, object], int]:
    """Return the fields of a line, and the digest of all lines so far. Raises ValueError if the
    digest is another, or the line is not whole."""
    text, mark, rest = line.rpartition(b',"#":"')
    chain = zlib.crc32(text, chain)
    if not mark or rest != f'{chain:08x}"}}\n'.encode():
        raise ValueError("its digest does not match")
    fields = json.loads(text + b"}")
    if not isinstance(fields, dict):
        raise ValueError("it is not a JSON object")
    return fields, chain


def sum_of(
    ids: NDArray[np.int32], logits: NDArray[np.float32], stride: int = 1, offset: int = 0
) -> str:
    """Return the sum of every stride-th candidate, in 16 hex digits: 8 lanes of x = x A + v + 1 mod
    2^64, v = id << 32 | the bits of the logit, and the same over the lanes."""
    tokens = ids[offset::stride].astype(np.uint32).astype(np.uint64)
    bits = np.ascontiguousarray(logits[offset::stride], np.float32).view(np.uint32)
    values = (tokens << np.uint64(32)) | bits.astype(np.uint64)
    total = 0
    for lane in range(_LANES):
        total = (total * _FACTOR + _folded(values[lane::_LANES]) + 1) % _WORD
    return f"{total:016x}"


def _folded(values: NDArray[np.uint64]) -> int:
    """Return x of one lane."""
    powers = np.full(len(values), _FACTOR, np.uint64)
    powers[:1] = 1
    powers = np.cumprod(powers, dtype=np.uint64)[::-1]
    return int(((values + np.uint64(1)) * powers).sum(dtype=np.uint64))


def size_of(form: "Form", n: int) -> int:
    """Return the bytes of an array of n candidates."""
    return {"logits": 4, "pairs": 8, "some": 8, "full": 12, "none": 0}[form] * n


def bytes_of(lists: Lists, form: "Form") -> bytes:
    """Return the bytes of an array."""
    parts = {
        "logits": (lists.logits,),
        "pairs": (lists.ids, lists.logits),
        "some": (lists.ids, lists.logits),
        "full": (lists.ids, lists.logits, lists.p),
        "none": (),
    }[form]
    return b"".join(part.tobytes() for part in parts)


def lists_of(array: "Array", content: bytes) -> Lists:
    """Return the candidates of an array, or those that it lists. Raises ValueError if there are too
    few bytes, or the sum is another."""
    n = array.listed if array.form == "some" else array.n
    if len(content) != size_of(array.form, n):
        raise ValueError(f"{size_of(array.form, n):,} bytes expected, {len(content):,} there")
    columns = np.frombuffer(content, np.uint32).reshape(-1, n) if n else np.zeros((3, 0), np.uint32)
    zeros = np.zeros(n, np.float32)
    if array.form == "logits":
        lists = Lists(np.arange(n, dtype=np.int32), columns[0].view(np.float32), zeros)
    else:
        p = columns[2].view(np.float32) if array.form == "full" else zeros
        lists = Lists(columns[0].view(np.int32), columns[1].view(np.float32), p)
    if (
        array.sum
        and array.form != "some"
        and sum_of(lists.ids, lists.logits, array.stride, array.offset) != array.sum
    ):
        raise ValueError("its sum does not match")
    return lists
