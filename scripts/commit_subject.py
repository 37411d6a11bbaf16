"""Check the subject of a commit message: `python scripts/commit_subject.py FILE`.

.pre-commit-config.yaml runs it as the hook commit-msg. It uses the standard library alone.
"""

import sys
import tomllib
from pathlib import Path

LONGEST = 72
RULES = Path(__file__).resolve().parent.parent / "tests" / "project" / "prose.toml"


def problems(message: str) -> list[str]:
    """Return the problems of a commit message; none for git's own merges and reverts."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0] if lines else ""
    if subject.startswith(("Merge ", "Revert ", "fixup! ", "squash! ")):
        return []
    found = []
    if len(subject) > LONGEST:
        found.append(f"the subject has {len(subject)} characters; at most {LONGEST} are allowed")
    if subject.split(" ")[0] not in verbs():
        found.append("begin the subject with a verb in the imperative, as in 'Add ...'")
    if subject.endswith("."):
        found.append("end the subject without a full stop")
    if len(lines) > 1 and lines[1].strip():
        found.append("leave the second line empty; the reason goes into the body")
    return found


def verbs() -> set[str]:
    """Return the verbs with which a docstring or a subject may begin."""
    return set(" ".join(tomllib.loads(RULES.read_text(encoding="utf-8"))["verbs"]).split())


def main() -> int:
    """Print the problems of the message in a file; return 1 if there are any."""
    found = problems(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
