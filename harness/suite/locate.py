"""Find the case of a record of a bundle."""

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.suite.file import expand, find_suites, read_suite
from sampler_parity.harness.suite.items import ids_of


def case_of(bundle: Bundle, record: CaseResult) -> Case:
    """Return the case of a record. Raises InputError if its suite lacks the case or has changed."""
    info = bundle.info
    for path in find_suites([info.paths.get(record.suite, record.suite)]):
        file = read_suite(path)
        if file.sha256 != info.suites.get(record.suite):
            raise InputError(path, "has changed since the bundle was made", "run it again")
        # `--case` finds the cases of the full profile, too
        quick = info.profile == "quick" and not ids_of(info.only)
        for case in expand(file, "quick" if quick else "full", info.seed):
            if case.id == record.id:
                match: Case = case
                return match
    raise InputError(record.suite, f"has no case {record.id!r}", "run the suite again")
