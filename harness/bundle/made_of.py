"""The files that a backend is made of: their digest, and the first that changed."""

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path, PurePath

from sampler_parity.harness.bundle.info import FileInfo

SHORT = 12  # digits of a digest in a result


def digest_of(files: Sequence[FileInfo]) -> str:
    """Return one digest of files by name, size and content; "" of none. Their folders do not count,
    so that another machine has the same."""
    if not files:
        return ""
    lines = sorted(f"{file.sha256} {file.size} {PurePath(file.path).name}\n" for file in files)
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def first_change(
    old: Sequence[FileInfo], new: Sequence[FileInfo], words: Collection[str] = ()
) -> tuple[FileInfo | None, FileInfo | None] | None:
    """Return the first file that differs, then and now; None for one that is not there.

    words: those of the command. A new file that only a word names is no change: the backend may
    have written it.
    """
    then, now = ({file.path: file for file in files} for files in (old, new))
    for path in sorted(then.keys() | now.keys()):
        before, after = then.get(path), now.get(path)
        written = before is None and any(path.endswith(PurePath(word).name) for word in words)
        if before != after and not written:
            return before, after
    return None


def described(
    then: FileInfo | None, now: FileInfo | None, inside: Callable[[Path], str]
) -> tuple[str, str]:
    """Return the path of a change, and its digests in words. inside: returns the file of a folder
    that changed, or "" if that is not known."""
    file = then or now
    assert file is not None
    name = inside(Path(file.path)) if then and now and file.files else ""
    digests = [info.sha256[:SHORT] or "unreadable" if info else "none" for info in (then, now)]
    where = os.path.join(file.path, name) if name else file.path
    return where, f"sha256 {digests[0]} then, {digests[1]} now"
