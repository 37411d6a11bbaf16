"""Labels that several pages have: numbers with units, verdicts, data as lines."""

import json
import re
from typing import Any

from sampler_parity.harness.sanitize.printable import one_line

# Vector units as builds of llama.cpp list them, the widest first.
_VECTORS = ("AVX512", "AVX2", "AVX", "SVE", "NEON", "SSE3")


def device_label(device: str) -> str:
    """Return a device for a reader: "AMD EPYC, AVX-512" for llama.cpp's list of CPU features. Only
    the widest vector unit of the features stays. Other texts are returned as they are."""
    names, *features = device.split(" | ")
    enabled = {name for part in features for name in re.findall(r"(\w+) = [1-9]", part)}
    if not enabled:
        return device
    cpu = re.sub(r"\bCPU \(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"\1", names)
    widest = [name.replace("AVX512", "AVX-512") for name in _VECTORS if name in enabled]
    return ", ".join([cpu, *widest[:1]])


def state_of(ok: bool) -> str:
    """Return the verdict in a word."""
    return "ok" if ok else "FAILED"


def several(n: int, what: str) -> str:
    """Return a number of things: "1 case", "1,200 cases"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def share_of(n: int, total: int, none: str = "none") -> str:
    """Return "n/N", or what stands there where there is nothing to count."""
    return f"{n:,}/{total:,}" if total else none


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return "1.23 [1.2, 1.26]"; without bounds the value alone, "" without one."""
    if low is None or high is None:
        return short(value)
    return f"{short(value)} [{low:.3g}, {high:.3g}]"


def factor(value: float, low: float | None, high: float | None) -> str:
    """Return "1.23 × [1.2, 1.26]"; without bounds the value alone."""
    bounds = "" if low is None or high is None else f" [{low:.3g}, {high:.3g}]"
    return f"{value:.3g} ×{bounds}"


def figure(value: float | None) -> str:
    """Return a measured value in three digits; "none" without one."""
    return "none" if value is None else f"{value:.3g}"


def short(value: float | None) -> str:
    """Return a measured value in three digits; "" without one."""
    return "" if value is None else f"{value:.3g}"


def duration(ns: float) -> str:
    """Return nanoseconds with a unit, in three digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.3g} ns"


def tail(p99_ns: float, p999_ns: float, samples: int) -> str:
    """Return the slow end, as far as so many samples show it: with fewer than 1 / (1 - q) the
    quantile q by nearest rank is the slowest of them, whichever q."""
    if samples < 100:
        return f"slowest of {samples}: {duration(p999_ns)}"
    if samples < 1000:
        return f"p99 {duration(p99_ns)}, slowest of {samples}: {duration(p999_ns)}"
    return f"p99 {duration(p99_ns)}, p99.9 {duration(p999_ns)}"


def lines_of(data: dict[str, Any] | None, limit: int = 2000) -> str:
    """Return a counterexample, one key a line, lists of rows one row a line, without empty texts. A
    line is cut at limit characters: what could not be shrunk may hold a whole vocabulary."""
    lines = []
    for key, item in (data or {}).items():
        if item == "":
            continue
        nested = isinstance(item, list) and len(item) > 1 and isinstance(item[0], list | dict)
        if nested:
            lines += [f"{key}:", *(f"  {one_line(_compact(entry), limit)}" for entry in item)]
        else:
            lines.append(f"{key}: {one_line(_compact(item), limit)}")
    return "\n".join(lines)


def _compact(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
