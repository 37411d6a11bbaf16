"""The numbers of the system calls that the sandbox refuses."""

from pathlib import Path

REFUSED = Path(__file__).with_name("refused_calls.txt")
_COLUMNS = {"x86_64": 1, "aarch64": 2}


def numbers(path: Path, machine: str) -> dict[str, int]:
    """Return the numbers of the calls of a list on a machine, by name."""
    lines = path.read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {row[0]: int(row[_COLUMNS[machine]]) for row in rows if row[_COLUMNS[machine]] != "-"}
