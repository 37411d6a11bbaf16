"""The limits of every input, and reading JSON within them. docs/reference/limits.md lists them,
with our largest inputs.

Larger input is refused with one line, before it costs time or memory. JSON with larger numbers or
deeper nesting raises ValueError.
"""

import json
import re
from functools import cache
from typing import Any

MIB = 1 << 20

# Bytes of a file. Our largest suite has 32 KiB; a bundle's largest line is a shrunk counterexample
# that could not be shrunk: a row of 2^20 logits in JSON takes 24 MiB.
TOML = MIB
RUN_JSON = 16 * MIB
RECORD = 64 * MIB
PROMPTS = 16 * MIB
TEXT = 16 * MIB  # a grammar, a descriptor of leaves, a prompt
ARRAYS = 256 * MIB  # the arrays of one difference: six of 2^20 numbers take 24 MiB

NESTING = 64  # lists and tables inside one another, in JSON; a chain in a counterexample has 6
WHOLE = (1 << 63) - 1  # any whole number; SQLite and int64 hold it

# Limits of a suite: sizes that real models and machines have, with a margin of a thousand.
ID = 200  # characters; a file of a bundle's artifacts is named after it, twice over
TOKENS = MIB  # of a history, a prompt, a text
STEPS = 1 << 16
STAGES = 1 << 10
DRAWS = 1 << 40  # of a distribution test
DRAWS_OF_CASE = 1 << 24  # each takes four bytes, twice
CASES = 200_000  # of a suite in one profile; our largest has 10,014
VOCAB = 1 << 20
RANDOM = 100_000  # random chains, grammars or tries of a block; our largest has 10,000
GRAMMAR = 1 << 16  # characters of GBNF; llama.cpp's largest example has 3,000

# Bytes of a server's answer. It has settings and times. It has each token with its text and bytes,
# and each probability likewise. llama-server repeats the request in it.
ANSWER = MIB // 8  # llama-server's settings take 4 KiB
ANSWER_TOKEN = 1 << 10  # an event of a stream takes 300
ANSWER_REPEATS = 4
ANSWER_TOKENS = 1 << 10  # where a request states no valid number
ANSWER_LARGEST = 8 * MIB
REPORT = MIB  # its report of itself; llama-server's /props takes 8 KiB with a template
BYTES_OF_VALUE = 8  # of the largest answer, for each value in it; ten times what answers have
BYTES_OF_EVENT = 64  # the same of a stream

RULES = 500  # of a kind in a policy, and of allowances

# Limits of an option.
JOBS = 1_024
SECONDS = 1e6  # eleven days: no request waits longer
ROUNDS = 100_000
RUNS = 1_000_000  # of a calibration or a self-check
DELAY_MS = 60_000.0


_HALF = rb"\ud"


def json_of(content: bytes | str, largest: int = WHOLE, constants: bool = True) -> Any:
    """Return the data of a JSON text. largest: the largest whole number. constants: accept NaN and
    Infinity, which Python writes and other readers refuse."""
    text = content if isinstance(content, str) else _text(content)
    digits = len(str(largest))
    try:  # a call for each number takes longer than the rest: only where one can be too large
        data = _decoder(largest if _run_of(digits).search(text) else 0, constants).decode(text)
    except RecursionError:
        raise _too_deep() from None
    if _HALF in (content if isinstance(content, bytes) else content.encode()).lower():
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair: UnicodeEncodeError
    return data


@cache
def _decoder(largest: int, constants: bool) -> json.JSONDecoder:
    """Return a decoder, cached: json.loads would make one for every line of a bundle. largest: 0 if
    no number can be larger."""
    return json.JSONDecoder(
        parse_int=(lambda digits: _whole(digits, largest)) if largest else None,
        parse_constant=float if constants else _no_json,
    )


@cache
def _run_of(digits: int) -> re.Pattern[str]:
    return re.compile(f"[0-9]{{{digits}}}")


def _text(content: bytes) -> str:
    return content.decode(json.detect_encoding(content), "surrogatepass")  # as json.loads does


def shallow(data: Any, deepest: int = NESTING) -> Any:
    """Return the same data. Raises ValueError if lists and tables nest deeper."""
    if isinstance(data, dict | list):
        if deepest == 0:
            raise _too_deep()
        for item in data.values() if isinstance(data, dict) else data:
            shallow(item, deepest - 1)
    return data


def _too_deep() -> ValueError:
    return ValueError(f"over {NESTING} lists and tables inside one another")


def _whole(digits: str, largest: int) -> int:
    if len(digits) > len(str(-largest)) or abs(int(digits)) > largest:
        excerpt = digits if len(digits) < 30 else f"{digits[:20]}... ({len(digits):,} digits)"
        raise ValueError(f"the whole number {excerpt} is larger than {largest}")
    return int(digits)


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is not valid JSON")
