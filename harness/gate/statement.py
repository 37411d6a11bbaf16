"""The outcome of the gate as an in-toto statement, which cosign and others can sign.

The predicate is in-toto's test result: https://in-toto.io/attestation/test-result/v0.1. Its
configuration names the bundle and the policy by their digests. A signature binds it to a release.
"""

import json
from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle, digest
from sampler_parity.harness.errors import InputError, need
from sampler_parity.harness.files import read_file
from sampler_parity.harness.gate.policy import Policy
from sampler_parity.harness.gate.records import GateResult
from sampler_parity.harness.gate.subject import backends_of
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of

PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"

Json = dict[str, Any]


def statement_of(bundle: Bundle, digests: list[tuple[str, str]], result: GateResult) -> str:
    """Return the statement as JSON. digests: as `released` returns it."""
    from google.protobuf.json_format import MessageToDict
    from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
    from in_toto_attestation.v1.statement import Statement

    subjects = [ResourceDescriptor(name, digest={"sha256": sha256}).pb for name, sha256 in digests]
    statement = Statement(
        subjects,
        PREDICATE,
        {
            "result": "FAILED" if result.exit_status else "PASSED",
            "configuration": [
                {"name": "bundle", "digest": {"sha256": digest(bundle.folder)}},
                {"name": "policy", "digest": {"sha256": result.policy_sha256}},
            ],
            "passedTests": [rule.rule for rule in result.rules if rule.state == "met"],
            "failedTests": [rule.rule for rule in result.rules if rule.state != "met"],
        },
    )
    statement.validate()
    return json.dumps(MessageToDict(statement.pb), indent=2) + "\n"


def released(bundle: Bundle, policy: Policy) -> list[tuple[str, str]]:
    """Return name and SHA-256 of the subjects of a statement: the files of the policy's subject, or
    else its backends. Raises InputError if there are none, or without the extra."""
    need("attest", "a statement")
    subject = policy.subject
    if subject is None:
        raise InputError("--statement", "the policy names no subject", "add [subject], or use -b")
    if subject.sha256:
        return [(subject.name, sha256) for sha256 in subject.sha256]
    ran = backends_of(bundle, subject)
    if not all(info.digest for info in ran.values()) or not ran:
        raise InputError("--statement", "no digest of the subject is in the bundle", "run again")
    return [(name, info.digest) for name, info in ran.items()]


def difference(path: Path, current: str) -> str:
    """Return how the statement in a file differs from the one that the gate makes now, or "".
    Raises InputError if it is not a statement."""
    try:
        was, now = json_of(read_file(path, limits.TOML)), json.loads(current)
    except ValueError as error:
        raise InputError(path, f"is not a statement: {error}") from None
    if not isinstance(was, dict):
        raise InputError(path, "is not a statement", "gate --statement writes one")
    passed = _at(was, ("predicate", "passedTests"))
    if isinstance(passed, list):  # a replay is evidence of its day, and not asked again
        passed[:] = [rule for rule in passed if not str(rule).startswith("replay of ")]
    for field in (  # the outer `predicate` after its parts, so that the message is precise
        ("_type",),
        ("predicateType",),
        ("subject",),
        ("predicate", "configuration"),
        ("predicate", "result"),
        ("predicate",),
    ):
        if _at(was, field) != _at(now, field):
            return ".".join(field)
    return "" if was == now else "an unknown field"


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data
