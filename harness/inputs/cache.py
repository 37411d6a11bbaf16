"""What earlier runs of the same code computed: one SQLite file for each state of the code, in the
user's cache folder.

The name of the file is a digest of everything that decides a value apart from its key: this
package's files, the libraries that it computes with, and the processor. So a changed sampler reads
another file. A file that cannot be read counts as empty, and so does one that another user could
write: values may be unpickled.
"""

import functools
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.inputs.cache_folder import cache_folder

Table = Literal["answers", "suites"]
_MOST_FILES = 8  # files of states of the code, those that were used last
_WAIT_S = 5.0  # for another process that writes


@dataclass(frozen=True)
class Cache:
    """Bytes by table and key. path: of the SQLite file, which need not exist."""

    path: Path

    def get(self, table: Table, key: bytes) -> bytes | None:
        if not os.path.exists(self.path):
            return None
        try:
            query = f"SELECT value FROM {table} WHERE key = ?"
            row = _connected(self.path, os.getpid()).execute(query, (key,)).fetchone()
        except sqlite3.Error:
            return None
        return row[0] if row and isinstance(row[0], bytes) else None

    def put(self, table: Table, values: Mapping[bytes, bytes]) -> None:
        """Add values. If that fails, later runs compute them again."""
        if not values:
            return
        try:
            with _connected(self.path, os.getpid()) as database:  # commits at its end
                columns = "(key BLOB PRIMARY KEY, value BLOB)"
                database.execute(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
                query = f"INSERT OR REPLACE INTO {table} VALUES (?, ?)"
                database.executemany(query, values.items())
        except sqlite3.Error:
            return


@functools.lru_cache(maxsize=1)
def _connected(path: Path, pid: int) -> sqlite3.Connection:
    """Return this process's connection: a forked process must not use its parent's. May raise
    sqlite3.Error."""
    if not _is_private(path):
        raise sqlite3.OperationalError("another user could write it")
    database = sqlite3.connect(path, timeout=_WAIT_S)
    database.execute("PRAGMA synchronous = OFF")  # a lost value is computed again
    return database


def _is_private(path: Path) -> bool:
    """Return whether folder and file are ours, the folder closed to others and the file not theirs
    to write. The file need not exist."""
    if not hasattr(os, "geteuid"):
        return True  # Windows: a user's folders are closed to others
    try:
        folder = os.lstat(path.parent)
        file = os.lstat(path) if os.path.lexists(path) else None
    except OSError:
        return False
    if not stat.S_ISDIR(folder.st_mode) or folder.st_mode & 0o077 or folder.st_uid != os.geteuid():
        return False
    return file is None or (
        stat.S_ISREG(file.st_mode) and not file.st_mode & 0o022 and file.st_uid == os.geteuid()
    )


def of_this_code(state: Mapping[str, Any] | None = None) -> Cache:
    """Return the cache of the code as its files are now; delete all but the last ones used. Without
    a folder to write, it is empty and stays empty. state: `machine.deciding()`, if just asked."""
    try:
        folder = cache_folder() / "computed"
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return Cache(Path(os.devnull) / "none")
    text = json.dumps(machine.deciding() if state is None else state)
    digest = hashlib.sha256(f"{text} {machine.digest_of_engines()}".encode()).hexdigest()
    path = folder / f"{digest[:32]}.sqlite"
    with suppress(OSError):  # another process may delete them, too
        if path.exists():
            path.touch()
        for unused in sorted(folder.glob("*.sqlite"), key=_changed)[:-_MOST_FILES]:
            unused.unlink()
    return Cache(path)


def _changed(path: Path) -> float:
    return path.stat().st_mtime
