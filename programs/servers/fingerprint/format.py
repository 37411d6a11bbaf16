"""Format a fingerprint as lines."""

from collections.abc import Iterator

from sampler_parity.programs.servers.fingerprint.fingerprint import Fingerprint, Statement
from sampler_parity.programs.servers.fingerprint.trait import UNDETERMINED

_NAME = 34


def statement_line(statement: Statement) -> str:
    return f"{statement.name:<{_NAME}} {statement.says} - {statement.evidence}"


def last_lines(done: Fingerprint) -> Iterator[str]:
    known = sum(statement.says != UNDETERMINED for statement in done.statements)
    yield f"{'self-report':<{_NAME}} {done.says_of_itself}"
    yield f"{'release':<{_NAME}} {done.release} - {done.release_evidence}"
    for like in done.likes:
        note = "" if like.seen else " (by its source, not observed)"
        yield f"{'like ' + like.engine:<{_NAME}} {like.equal}/{like.told}{note}"
        if like.engine in done.resembles:
            yield from (f"{'':<{_NAME}} but {line}" for line in like.differs)
    most = " or ".join(done.resembles) or "nothing known"
    yield (
        f"fingerprint   {known}/{len(done.statements)} determined, {done.requests} requests,"
        f" {done.seconds:g} s   resembles {most}"
    )
