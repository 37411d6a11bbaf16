"""The targets of the Makefile and of the file that it includes."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAKEFILES = (ROOT / "Makefile", ROOT / "scripts" / "slow.mk")


def targets(*files: Path) -> dict[str, str]:
    """Return the text behind ` ## ` of each target that is no file; "" if it has none."""
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    found = [re.match(r"([a-z][a-z-]*):(?!=)(?:.*  ## (.+))?", line) for line in lines]
    return {match[1]: match[2] or "" for match in found if match}
