"""Write a kit: tests by sampler as JSON, long rows as float32, a schema, an index with digests."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference.chronology import NEWEST
from sampler_parity.vectors.kit import FLAGS, Vector

FORMAT = 1
IN_JSON = 64  # values of a row that stand in the JSON
ROWS = "rows.f32"


@dataclass
class Rows:
    """The file of long rows: float32, little-endian, one after another; equal ones once."""

    content: bytearray = field(default_factory=bytearray)
    _places: dict[bytes, int] = field(default_factory=dict)

    def of(self, values: NDArray[np.float32]) -> Any:
        """Return the values as numbers, or where they are in the file: `at`, and their number."""
        if len(values) <= IN_JSON:
            return [number(value) for value in values]
        data = values.astype("<f4").tobytes()
        key = hashlib.sha256(data).digest()
        if key not in self._places:
            self._places[key] = len(self.content) // 4
            self.content += data
        return {"at": self._places[key], "n": len(values)}

    def ends(self, values: Sequence[float], towards: float) -> Any:
        """Return ends of intervals; in the file they are rounded outward."""
        if len(values) <= IN_JSON:
            return [number(value) for value in values]
        exact = np.array(values, np.float64)
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float32)
        inward = rounded > exact if towards < 0 else rounded < exact
        rounded[inward] = np.nextafter(rounded[inward], np.float32(towards))
        return self.of(rounded)


def number(value: Any) -> Any:
    """Return a JSON number that gives the same float back, or the words "inf" and "-inf"."""
    if isinstance(value, np.float32):
        value = float(str(value))
    if isinstance(value, float) and np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def write(tests: Iterable[Vector], folder: Path) -> dict[str, int]:
    """Write a kit into a folder, and return the number of tests by sampler."""
    rows, by_sampler = Rows(), defaultdict[str, list[dict[str, Any]]](list)
    for test in tests:
        by_sampler[test.sampler].append(as_json(test, rows))
    (folder / "vectors").mkdir(parents=True, exist_ok=True)
    for sampler, tests_of in sorted(by_sampler.items()):
        content = {"format": FORMAT, "sampler": sampler, "tests": tests_of}
        lines = json.dumps(content, separators=(",", ":")).replace('{"id":', '\n{"id":')
        (folder / "vectors" / f"{sampler}.json").write_text(lines + "\n", encoding="utf-8")
    (folder / ROWS).write_bytes(rows.content)
    for name in ("schema.json", "README.md", "LICENSE"):
        text = files("sampler_parity.vectors").joinpath(f"files/{name}").read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    counts = {sampler: len(tests_of) for sampler, tests_of in sorted(by_sampler.items())}
    index = {
        "format": FORMAT, "sampler_parity": version("sampler-parity"), "llama_cpp": NEWEST,
        "licence": "Apache-2.0", "flags": FLAGS, "tests": counts,
        "sha256": _digests(folder, counts),
    }  # fmt: skip
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return counts


def _digests(folder: Path, counts: Mapping[str, int]) -> dict[str, str]:
    names = [ROWS, "schema.json", *(f"vectors/{sampler}.json" for sampler in counts)]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def as_json(test: Vector, rows: Rows) -> dict[str, Any]:
    """Return a test as its file has it. What is as in the input is left out."""
    n, index = len(test.ids), {token: i for i, token in enumerate(test.ids.tolist())}
    data: dict[str, Any] = {"id": test.id, "about": test.about}
    if test.flags:
        data["flags"] = [*test.flags]
    data["parameters"] = {k: _plain(v) for k, v in test.parameters.items()}
    if test.tokens:
        data["tokens"] = [*test.tokens]
    if test.uniforms:
        data["uniform"] = test.uniforms[0]
    if not np.array_equal(test.ids, np.arange(n)):
        data["ids"] = test.ids.tolist()
    data["logits"] = rows.of(test.logits)
    ids, logits = test.exact["ids"], test.exact["logits"]
    exact: dict[str, Any] = {}
    if not np.array_equal(ids, test.ids):
        exact["ids"] = ids.tolist()
    if not np.array_equal(logits, test.logits[[index[token] for token in ids.tolist()]]):
        exact["logits"] = rows.of(logits)
    if test.exact["token"] is not None:
        exact["token"] = test.exact["token"]
    data["exact"] = exact
    if test.right is not None:
        data["right"] = _right(test, rows)
    return data


def _right(test: Vector, rows: Rows) -> dict[str, Any]:
    assert test.right is not None
    right, finite = test.right, sorted(test.ids[test.logits > -np.inf].tolist())
    data: dict[str, Any] = {}
    if sorted(right.stay) != finite:
        data["stay"] = [*right.stay]
    if right.may:
        data |= {"may": [*right.may], "least": right.least, "most": right.most}
    if right.low is not None and right.high is not None:
        if (ids := [*right.stay, *right.may]) != test.ids.tolist():
            data["ids"] = ids
        data |= {"low": rows.ends(right.low, -np.inf), "high": rows.ends(right.high, np.inf)}
    if right.tokens:
        data["tokens"] = [*right.tokens]
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return number(value)
