"""Records without what another run measures anew."""

from typing import Any

TIMES = {"reference_s", "wall_s", "ns"}


def timeless(data: Any) -> Any:
    """Return the JSON of records without times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    return [timeless(value) for value in data] if isinstance(data, list) else data
