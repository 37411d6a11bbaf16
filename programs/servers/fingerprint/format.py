"""Format a fingerprint as lines."""

from collections.abc import Iterator

from sampler_parity.programs.servers.fingerprint.fingerprint import Fingerprint, Statement
from sampler_parity.programs.servers.fingerprint.trait import UNDETERMINED

_NAME = 34


def statement_line(statement: Statement) -> str:
    return f"{statement.name:<{_NAME}} {statement.says} - {statement.evidence}"


def last_lines(fingerprint: Fingerprint) -> Iterator[str]:
    determined = sum(statement.says != UNDETERMINED for statement in fingerprint.statements)
    yield f"{'self-report':<{_NAME}} {fingerprint.says_of_itself}"
    yield f"{'release':<{_NAME}} {fingerprint.release} - {fingerprint.release_evidence}"
    for like in fingerprint.likes:
        note = "" if like.seen else " (by its source, not observed)"
        yield f"{'like ' + like.engine:<{_NAME}} {like.equal}/{like.told}{note}"
        if like.engine in fingerprint.resembles:
            yield from (f"{'':<{_NAME}} but {line}" for line in like.differs)
    most = " or ".join(fingerprint.resembles) or "nothing known"
    yield (
        f"fingerprint   {determined}/{len(fingerprint.statements)} determined,"
        f" {fingerprint.requests} requests, {fingerprint.seconds:g} s   resembles {most}"
    )
