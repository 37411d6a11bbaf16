"""Write a kit: vectors and scripts by sampler as JSON, long rows as float32, a schema, and an index
with digests."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks import Profile
from sampler_parity.reference.chronology import NEWEST
from sampler_parity.vectors.kit import FLAGS, Call, Script, Vector, kit_of

FORMAT = 1
IN_JSON = 64  # values of a row that stand in the JSON
ROWS = "rows.f32"


@dataclass(frozen=True)
class Contents:
    """Which tests a kit has: of which suites, in which profile, with at most how many tokens."""

    suites: Sequence[str]
    profile: Profile
    max_vocab: int


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
    """Return a JSON number that gives the same float back, or the words "inf", "-inf" and "nan"."""
    if isinstance(value, np.float32):
        value = float(str(value))
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def write(
    contents: Contents, folder: Path, tests: Iterable[Vector | Script] | None = None
) -> dict[str, dict[str, int]]:
    """Write a kit into a folder. tests: some of the contents, by default all. Return the number of
    its tests by kind and sampler. Raises InputError as kit_of does, before anything is written."""
    rows = Rows()
    kinds: dict[str, dict[str, list[Any]]] = {
        "vectors": defaultdict(list), "scripts": defaultdict(list),
    }  # fmt: skip
    for test in tests or kit_of(contents.suites, contents.profile, contents.max_vocab):
        if isinstance(test, Vector):
            kinds["vectors"][test.sampler].append(as_json(test, rows))
        else:
            kinds["scripts"][test.sampler].append(script_as_json(test, rows))
    for kind, by_sampler in kinds.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for sampler, tests_of in by_sampler.items():
            content = {"format": FORMAT, "sampler": sampler, "tests": tests_of}
            lines = json.dumps(content, separators=(",", ":")).replace('{"id":', '\n{"id":')
            (folder / kind / f"{sampler}.json").write_text(lines + "\n", encoding="utf-8")
    (folder / ROWS).write_bytes(rows.content)
    for name in ("schema.json", "README.md", "LICENSE"):
        text = files("sampler_parity.vectors").joinpath(f"files/{name}").read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    counts = {
        kind: {sampler: len(tests_of) for sampler, tests_of in sorted(by_sampler.items())}
        for kind, by_sampler in kinds.items()
    }
    index = versions() | {
        "contents": asdict(contents), "licence": "Apache-2.0", "flags": FLAGS,
        "tests": counts["vectors"], "scripts": counts["scripts"],
        "sha256": _digests(folder, counts),
    }  # fmt: skip
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return counts


def versions() -> dict[str, Any]:
    """Return the versions that decide the content of a kit."""
    ours = version("sampler-parity")
    return {"format": FORMAT, "sampler_parity": ours, "llama_cpp": NEWEST}


def _digests(folder: Path, counts: Mapping[str, Iterable[str]]) -> dict[str, str]:
    of_samplers = [f"{kind}/{sampler}.json" for kind, names in counts.items() for sampler in names]
    names = [ROWS, "schema.json", *of_samplers]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def script_as_json(script: Script, rows: Rows) -> dict[str, Any]:
    data: dict[str, Any] = {"id": script.id, "about": script.about}
    data["parameters"] = {k: _plain(v) for k, v in script.parameters.items()}
    if script.seed is not None:
        data["seed"] = script.seed
    if script.instances > 1:
        data["instances"] = script.instances
    data["calls"] = [_call(call, rows) for call in script.calls]
    return data


def _call(call: Call, rows: Rows) -> dict[str, Any]:
    data: dict[str, Any] = {"call": call.what}
    if call.on:
        data["on"] = call.on
    if call.what == "accept":
        data["token"] = call.token
    return data | (_input_and_results(call.vector, rows) if call.vector else {})


def as_json(test: Vector, rows: Rows) -> dict[str, Any]:
    """Return a test as its file has it. What is as in the input is left out."""
    data: dict[str, Any] = {"id": test.id, "about": test.about}
    data["parameters"] = {k: _plain(v) for k, v in test.parameters.items()}
    if test.tokens:
        data["tokens"] = [*test.tokens]
    return data | _input_and_results(test, rows)


def _input_and_results(test: Vector, rows: Rows) -> dict[str, Any]:
    n, index = len(test.ids), {token: i for i, token in enumerate(test.ids.tolist())}
    data: dict[str, Any] = {}
    if test.flags:
        data["flags"] = [*test.flags]
    if test.uniform is not None:
        data["uniform"] = test.uniform
    if not np.array_equal(test.ids, np.arange(n)):
        data["ids"] = test.ids.tolist()
    data["logits"] = rows.of(test.logits)
    if test.p.any():
        data["p"] = rows.of(test.p)
    ids, exact = test.exact["ids"], dict[str, Any]()
    places = [index[token] for token in ids.tolist()]
    if not np.array_equal(ids, test.ids):
        exact["ids"] = ids.tolist()
    for name, before in (("logits", test.logits), ("p", test.p)):
        if test.exact[name].tobytes() != before[places].tobytes():  # 0 and -0 differ
            exact[name] = rows.of(test.exact[name])
    if test.exact["sorted"] != ("sorted" in test.flags):
        exact["sorted"] = test.exact["sorted"]
    if test.exact["token"] is not None:
        exact["token"] = test.exact["token"]
    data["exact"] = exact
    if test.right is not None:
        data["right"] = _right(test, rows)
    return data


def _right(test: Vector, rows: Rows) -> dict[str, Any]:
    assert test.right is not None
    right, finite = test.right, sorted(test.ids[test.logits > -np.inf].tolist())
    if right.alone:
        return {"token_alone": True, "tokens": [*right.tokens]}
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
