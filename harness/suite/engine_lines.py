"""Read `engines/NAME/shared_suites.toml`: the lines of an engine for suites that it shares.

    ["properties/ties".top_k]
    instead.rwkv = [{ rwkv_sample_logits = { seed = 7, top_p = 0.999, top_k = 2 } }]
    requires.rwkv = ["tied"]

The suite names no engine: its blocks get these lines as if they were in its file.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.harness.strict import first_mistake
from sampler_parity.harness.suite.ids import shipped, suite_id

FILE = "shared_suites.toml"
KEYS = ("instead", "requires")
ByBackend = dict[str, Any]
Lines = tuple[tuple[Path, Mapping[str, Any]], ...]  # each file with its lines
_LINES = TypeAdapter(dict[str, dict[str, dict[str, ByBackend]]])  # suite, block, key


def _lines_of(path: Path, all_files: Lines) -> list[tuple[Path, Any]]:
    """Return each file of an engine that has lines for a suite of the package, with the lines."""
    suite = suite_id(path)
    lines = [(file, of[suite]) for file, of in all_files if suite in of]
    return lines if lines and shipped()[suite].resolve() == path.resolve() else []


def bytes_of(path: Path, all_files: Lines | None = None) -> bytes:
    """Return the lines of all engines for a suite, for its digest; b"" if there are none.
    all_files: `all_lines`, if the caller has them."""
    lines = [of for _, of in _lines_of(path, all_lines() if all_files is None else all_files)]
    return json.dumps(lines, sort_keys=True).encode() if lines else b""


def merged(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Return a suite with the lines of all engines. Raises InputError for a line about a block that
    the suite lacks, and for a line that the block already has."""
    lines = _lines_of(path, all_lines())
    if not lines:
        return data
    both = deepcopy(data)
    blocks = {block["id"]: block for block in _blocks(both)}
    for file, of in lines:
        for name, keys in of.items():
            if name not in blocks:
                hint = did_you_mean(name, list(blocks))
                raise InputError(file, f"{suite_id(path)}: no block {name!r}", hint)
            _merge(file, blocks[name], keys)
    return both


@functools.cache
def all_lines() -> Lines:
    """Return each file with its lines. Raises InputError for a bad file, an unknown suite, or a
    backend of another engine."""
    suites = [*shipped()]
    files = sorted(engines_folder().glob(f"*/{FILE}"))
    return tuple((path, read_lines(path, suites)) for path in files)


def read_lines(path: Path, suites: list[str]) -> dict[str, dict[str, dict[str, ByBackend]]]:
    """Read one file. Raises InputError like `all_lines`."""
    try:
        lines = _LINES.validate_python(toml_of(path, read_file(path, limits.TOML)))
    except ValidationError as error:
        raise InputError(path, first_mistake(error)) from None
    for suite, blocks in lines.items():
        if suite not in suites:
            raise InputError(path, f"no such suite: {suite}", did_you_mean(suite, suites))
        for name, keys in blocks.items():
            for key, of in keys.items():
                if key not in KEYS:
                    raise InputError(
                        path, f"{suite}: {name}: unknown key {key!r}", f"use {' or '.join(KEYS)}"
                    )
                if foreign := [
                    backend for backend in of if backend.split("/")[0] != path.parent.name
                ]:
                    problem = f"{suite}: {name}: {foreign[0]!r} is not a backend of this engine"
                    raise InputError(path, problem)
    return lines


def _blocks(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for value in data.values():
        if isinstance(value, list):
            yield from (block for block in value if isinstance(block, dict) and "id" in block)


def _merge(file: Path, block: dict[str, Any], keys: dict[str, ByBackend]) -> None:
    for key, of in keys.items():
        there = block.setdefault(key, {})
        if twice := sorted(there.keys() & of.keys()):
            raise InputError(file, f"{block['id']}: the suite already has {key} for {twice[0]}")
        there.update(of)
