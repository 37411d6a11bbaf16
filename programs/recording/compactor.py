"""Keep the folder of a running recording small: `python compactor.py FOLDER BYTES MS LIMIT`.

It runs at the lowest priority until its standard input has a byte, or ends: then `record` was
killed, and the program may go on. It compresses finished files of arrays, and removes the oldest
ones beyond BYTES or MS (0: keep all). Above LIMIT bytes it writes the file `stop`, at which every
recorder stops.
"""

import os
import select
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sampler_parity.harness.bundle.disk import write_whole
from sampler_parity.programs.recording.segments import is_alive, packed

_PAUSE_S = 0.5


def keep(folder: Path, most: int, most_ms: int, limit: int, ended: bool) -> None:
    """Do it once. ended: the program has ended; a process that it left may still write."""
    for path in finished(folder, ended):
        path.unlink() if _old(path, most_ms) else pack(path)
    for path in sorted(folder.glob("*.arrays.z"), key=_time):
        if _old(path, most_ms) or (most and _size(folder.glob("*.arrays*")) > most):
            path.unlink()
    if limit and _size(folder.iterdir()) > limit:
        (folder / "stop").touch()


def finished(folder: Path, ended: bool) -> list[Path]:
    """Return the files of arrays that nobody writes to: of each process all but the last, and that
    too if the process has ended."""
    by_process = defaultdict(list)
    for path in sorted(folder.glob("*.arrays")):
        by_process[path.name.split(".")[0]].append(path)
    return [
        path
        for name, paths in by_process.items()
        for path in (paths if ended and not is_alive(name) else paths[:-1])
    ]


def pack(path: Path) -> None:
    """Replace a file of arrays by a compressed one, with the same time."""
    content, about = path.read_bytes(), path.stat()
    packed_path = path.with_name(path.name + ".z")
    write_whole(packed_path, packed(content))
    packed_path.chmod(0o600)
    os.utime(packed_path, ns=(about.st_atime_ns, about.st_mtime_ns))
    path.unlink()


def _old(path: Path, most_ms: int) -> bool:
    return bool(most_ms) and time.time() - _time(path) > most_ms / 1000


def _time(path: Path) -> float:
    return path.stat().st_mtime


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def main() -> None:
    folder, *numbers = sys.argv[1:]
    most, most_ms, limit = map(int, numbers)
    os.nice(19)
    ended, over = False, False
    while not over:
        over = bool(select.select([0], [], [], _PAUSE_S)[0])
        ended = over and bool(os.read(0, 1))
        with suppress(OSError):  # the disk is full, or the folder is gone
            keep(Path(folder), most, most_ms, limit, ended)


if __name__ == "__main__":
    main()
