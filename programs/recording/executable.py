"""Programs that no library can be preloaded into, each with the reason."""

import os
import shutil
import stat
import struct
import sys
from pathlib import Path

_INTERPRETER = 3  # PT_INTERP: the dynamic linker


def why_not(path: Path, scripts: int = 0) -> tuple[str, str] | None:
    """Return why a program cannot be recorded, and what to do instead; None if it can. scripts:
    through how many it is run."""
    with path.open("rb") as file:
        head = file.read(4096)
        if head[:2] == b"#!" and scripts < 5:  # as many as Linux runs
            interpreter = _interpreter(os.fsdecode(head[2:].partition(b"\n")[0]))
            return why_not(interpreter, scripts + 1) if interpreter else None
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return None
        if head[4] != 2 or head[18:20] != Path(sys.executable).read_bytes()[18:20]:
            return "is for another kind of machine (32 bits?)", "build it for this one, in 64 bits"
        (at,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
        rows = [
            struct.unpack_from("<IIQQQQ", table, i) for i in range(0, len(table) - 55, size or 56)
        ]
        names = [(offset, length) for kind, _, offset, _, _, length in rows if kind == _INTERPRETER]
        if not names:
            return (
                "is linked statically: no recorder can be put into it",
                "build it with BUILD_SHARED_LIBS=ON",
            )
        file.seek(names[0][0])
        if b"musl" in file.read(min(names[0][1], 4096)):
            return "is linked with musl, the recorder with glibc", "build it on a system with glibc"
    about = path.stat()
    setuid = about.st_mode & stat.S_ISUID and about.st_uid != os.geteuid()
    if setuid or (about.st_mode & stat.S_ISGID and about.st_gid != os.getegid()):
        return "is setuid: Linux preloads nothing into it", "run a copy of it without that bit"
    return None


def _interpreter(line: str) -> Path | None:
    """Return the program of a script's first line; by `env`, the one that it finds."""
    words = line.split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word[0] != "-" and "=" not in word]
    program = shutil.which(words[0]) if words else None
    return Path(program) if program else None
