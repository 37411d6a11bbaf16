"""Parse untrusted JSON: larger numbers or deeper nesting raise ValueError."""

import json
import re
from functools import cache
from typing import Any

from sampler_parity.harness.sanitize.limits import NESTING, WHOLE

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
