"""The findings of all pages as SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif

A result is in a file of each of its backends that is in a git repository, by its path there, or
under the current directory; else in its page of the report, as a result must have a place.
"""

import json
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sampler_parity.harness.failures.differing import WORDS
from sampler_parity.reports.pages.index.index_model import Index, Told

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_HELP = "The message has the command that runs a case again."


def sarif(index: Index) -> str:
    """Return the text of the file."""
    ids = sorted({_id(finding) for finding in index.findings})
    driver = {
        "name": "sampler-parity",
        "version": version("sampler-parity"),
        "rules": [_rule(id) for id in ids],
    }
    run = {"tool": {"driver": driver}, "results": [_result(told) for told in index.findings]}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _id(finding: Told) -> str:
    return finding.id or finding.stem


def _rule(id: str) -> dict[str, Any]:
    sampler, _, kind = id.partition("/")
    text = f"{sampler} {WORDS[kind]}" if kind in WORDS else id.replace("/", ": ")
    return {"id": id, "shortDescription": {"text": text}, "help": {"text": f"{text}. {_HELP}"}}


def _result(finding: Told) -> dict[str, Any]:
    place = f"{finding.stem}.html#{finding.anchor}"
    replay = f"\nreplay: {finding.replay}" if finding.replay else ""
    return {
        "ruleId": _id(finding),
        "level": "error" if finding.fails else "note",
        "message": {"text": finding.text + replay},
        "locations": [_location(uri) for uri in _uris(finding)],
        "partialFingerprints": {"primaryLocationLineHash": sha256(place.encode()).hexdigest()},
    }


def _location(uri: str) -> dict[str, Any]:
    region = {"startLine": 1}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _uris(finding: Told) -> list[str]:
    here = Path.cwd().resolve()
    uris: dict[str, None] = {}
    for file in map(Path, finding.files):
        in_git = (folder for folder in file.parents if (folder / ".git").exists())
        root = next(in_git, here if file.is_relative_to(here) else None)
        if root is not None:
            uris[quote(file.relative_to(root).as_posix())] = None
    return [*uris] or [f"{finding.stem}.html"]
