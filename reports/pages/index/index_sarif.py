"""The findings of all pages as SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif

A result is in the first file of its backend under the current directory, which in a job is the
user's repository; else in its page of the report, as a result must have a place.
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sampler_parity.reports.pages.index.index_model import Index, Told

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(index: Index) -> str:
    """Return the text of the file."""
    ids = sorted({_rule(finding) for finding in index.findings})
    driver = {
        "name": "sampler-parity",
        "version": version("sampler-parity"),
        "rules": [{"id": id, "shortDescription": {"text": id}} for id in ids],
    }
    run = {"tool": {"driver": driver}, "results": [_result(told) for told in index.findings]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(finding: Told) -> str:
    return finding.id or finding.stem


def _result(finding: Told) -> dict[str, Any]:
    replay = f"\nreplay: {finding.replay}" if finding.replay else ""
    return {
        "ruleId": _rule(finding),
        "level": "error" if finding.fails else "note",
        "message": {"text": finding.text + replay},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(finding)}}}],
        "partialFingerprints": {"anchor/v1": f"{finding.stem}.html#{finding.anchor}"},
    }


def _uri(finding: Told) -> str:
    root = Path.cwd().resolve()
    ours = (Path(file) for file in finding.files if Path(file).is_relative_to(root))
    file = next(ours, None)
    return quote(file.relative_to(root).as_posix()) if file else f"{finding.stem}.html"
