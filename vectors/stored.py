"""Compare a stored kit with what the suites and the reference give now."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits
from sampler_parity.vectors.written import ROWS, Contents, versions, write

MOST_BYTES = 1 << 30  # of a file; the rows of all quick cases have 300 MB


def difference(kit: Path) -> str:
    """Return where a stored kit differs first from a new one of the same contents; "" if nowhere.
    Raises InputError for a folder that is no kit."""
    index = _json(kit / "index.json")
    for name, value in versions().items():
        if index.get(name) != value:
            return f"index.json: {name} is {index.get(name)!r}, and here {value!r}: write it again"
    with TemporaryDirectory() as folder:
        write(_contents(kit, index), Path(folder))
        return next(_differences(kit, Path(folder)), "")


def _contents(kit: Path, index: dict[str, Any]) -> Contents:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Contents).validate_python(index.get("contents"))
    except ValidationError:
        raise InputError(
            kit / "index.json", "has no valid contents", "write the kit again"
        ) from None


def _differences(stored: Path, new: Path) -> Iterator[str]:
    """Yield the first test that differs in each file, and then other files that differ."""
    tests, fixed = _names(stored) | _names(new), ["schema.json", "README.md", "LICENSE", ROWS]
    for name in sorted(tests):
        for kit, problem in (stored, "is missing"), (new, "has tests of no suite"):
            if not (kit / name).is_file():
                yield f"{name} {problem}"
        if (stored / name).is_file() and (new / name).is_file():
            yield from _first(name, _tests(stored, name), _tests(new, name))
    for name in [*sorted(tests), *fixed, "index.json"]:
        if read_file(stored / name, MOST_BYTES) != read_file(new / name, MOST_BYTES):
            yield f"{name} differs"


def _names(kit: Path) -> set[str]:
    return {path.relative_to(kit).as_posix() for path in kit.glob("*/*.json")}


def _first(name: str, stored: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Yield the first test of a file that differs."""
    for id in [*new, *stored]:
        if id not in stored:
            yield f"{name}: {id} is missing"
        elif id not in new:
            yield f"{name}: {id} comes from no case"
        elif field := _field(stored[id], new[id]):
            yield f"{name}: {id}: {field}"
        else:
            continue
        return


def _field(stored: Any, new: Any, path: str = "") -> str:
    """Return the first field that differs, with both values if they are short."""
    if (texts := [json.dumps(stored), json.dumps(new)])[0] == texts[1]:
        return ""
    if isinstance(stored, dict) and isinstance(new, dict):
        for key in [*new, *stored]:
            if field := _field(stored.get(key), new.get(key), f"{path}.{key}".lstrip(".")):
                return field
    if isinstance(stored, list) and isinstance(new, list) and len(stored) == len(new):
        pairs = zip(stored, new, strict=True)
        return next(f for i, pair in enumerate(pairs) if (f := _field(*pair, f"{path}[{i}]")))
    values = f": {texts[0]}, not {texts[1]}" if max(map(len, texts)) < 60 else ""
    return f"{path} differs{values}"


def _tests(kit: Path, name: str) -> dict[str, Any]:
    """Return the tests of a file by id, with their rows. Raises InputError."""
    rows, tests = read_file(kit / ROWS, MOST_BYTES), _json(kit / name).get("tests")
    if not isinstance(tests, list) or not all(isinstance(t, dict) and "id" in t for t in tests):
        raise InputError(kit / name, "has no tests with ids", "write the kit again")
    return {str(test["id"]): _with_rows(test, rows) for test in tests}


def _with_rows(value: Any, rows: bytes) -> Any:
    """Return a value with the bytes of each long row, in hexadecimal, instead of where it is."""
    match value:
        case {"at": int(at), "n": int(n)}:
            return rows[4 * at : 4 * (at + n)].hex()
        case dict():
            return {key: _with_rows(part, rows) for key, part in value.items()}
        case list():
            return [_with_rows(part, rows) for part in value]
    return value


def _json(path: Path) -> dict[str, Any]:
    try:
        data = limits.shallow(limits.json_of(read_file(path, MOST_BYTES)))
    except ValueError as error:
        raise InputError(path, f"is no JSON: {error}", "write the kit again") from None
    if not isinstance(data, dict):
        raise InputError(path, "is no JSON object", "write the kit again")
    return data
