"""Check that a bundle is whole: conditions on the folder of any run, even a disturbed one.

It reads the bytes alone, and not with the reader of bundles, which is under test with it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

Results = dict[tuple[str, str], dict[str, Any]]  # by kind and id


def results_of(folder: Path, finished: bool = True) -> Results:
    """Return the results of a bundle, after checking that each line parses and is unique.

    finished: it must end with a footer that has the right counts and digest. Otherwise it must have
    none, and a torn last line, which `--resume` drops, is ignored.
    """
    content = (folder / "results.jsonl").read_bytes()
    *lines, torn = content.split(b"\n")
    assert not (finished and torn), f"cut off in mid-line: {torn[:80]!r}"
    records = [json.loads(line) for line in lines]
    kinds = [record["kind"] for record in records]
    assert kinds.index("header") == 0 == kinds[1:].count("header"), "the header is the first line"
    results: Results = {}
    for record in records:
        if record["kind"] not in ("header", "footer"):
            key = record["kind"], record["id"]
            assert key not in results, f"{key} stands twice"
            results[key] = record
    if not finished:
        assert "footer" not in kinds
        return results
    assert kinds.index("footer") == len(kinds) - 1, "the footer is the last line"
    footer = records[-1]
    before = content[: -len(lines[-1]) - 1]
    assert footer["sha256"] == hashlib.sha256(before).hexdigest(), "the footer has another digest"
    counts = {kind: kinds.count(kind) for kind in kinds if kind not in ("header", "footer")}
    assert footer["records"] == counts
    return results
