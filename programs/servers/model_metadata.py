"""Read the metadata of a model that a server takes defaults from."""

import json
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file
from sampler_parity.harness.sanitize import limits

_NAME = "generation_config.json"
_FIX = f"name a GGUF file, {_NAME}, or a folder with it"


def metadata_of(path: Path) -> dict[str, Any]:
    """Return the scalar keys of a GGUF file, or generation_config.json of a folder. Raises
    InputError for a file that is neither."""
    if path.is_dir():
        path = path / _NAME
        if not path.exists():
            return {}
    return _of_json(path) if path.suffix == ".json" else _of_gguf(path)


def _of_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_file(path, limits.REPORT))
    except (ValueError, RecursionError):
        raise InputError(path, "is not JSON", _FIX) from None
    if not isinstance(data, dict):
        raise InputError(path, "is JSON, but not an object", _FIX)
    return data


def _of_gguf(path: Path) -> dict[str, Any]:
    from gguf import GGUFValueType

    from sampler_parity.harness.inputs.gguf import BoundedReader

    try:
        fields = BoundedReader(path).fields.items()
        scalars = {k: f for k, f in fields if f.types[0] != GGUFValueType.ARRAY}
        return {key: field.contents() for key, field in scalars.items()}
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}", _FIX) from None
    except InputError:
        raise
    except Exception:  # the package's reader raises anything on a damaged file
        raise InputError(path, "is not a GGUF file", _FIX) from None
