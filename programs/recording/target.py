"""The release of llama.cpp that a recorded process is judged by."""

from sampler_parity.programs.recording.events import Library
from sampler_parity.programs.recording.reader import Process
from sampler_parity.reference.chronology import NEWEST, check_known, order
from sampler_parity.reference.errors import ChainError


def target_of(process: Process, notes: list[str]) -> str:
    """Return the release of a process's libllama; the newest, with a note, for an unknown one."""
    library = library_of(process)
    if library is None:
        return NEWEST
    release = f"v{library.version.removesuffix('-dev')}" if library.version else f"b{library.build}"
    try:
        order(release)
        check_known(release)
    except ChainError:
        reported = library.version or (f"b{library.build}" if library.build else "no version")
        note = f"libllama reports {reported}, an unsupported release: judged by {NEWEST}"
        if note not in notes:
            notes.append(note)
        return NEWEST
    return release


def library_of(process: Process) -> Library | None:
    return next((event for event in process.events() if isinstance(event, Library)), None)
