"""Digests of files and of whole folders. A file is read again only if its stat has changed.

The digests of folders and of large files are kept in the user's cache folder, with inode, size,
mtime and ctime of each file. Programs cannot set the ctime of a file.
"""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.cache_folder import cache_folder

_SETTLED_NS = 2_000_000_000  # a file that changed later may change again without a new ctime
_LARGE = 1 << 16
_LEFT_OUT = ("__pycache__", "RECORD")  # written by Python, and by pip with paths of the machine
Stat = list[int]
Digests = dict[str, tuple[Stat, str]]  # by path: its stat and digest

_CACHE: Digests = {}


def file_info(path: Path, fresh: bool = False) -> FileInfo:
    """Return a file's size and digest. fresh: read it, whatever the cache has."""
    cache = {} if fresh else _CACHE
    name, size = str(path), _size(path)
    if size >= _LARGE and not fresh and name not in cache:
        cache.update(_load(_cache_file(path)))
    before = cache.get(name)
    sha256 = _digest(path, cache)
    if size >= _LARGE and not fresh and cache.get(name) != before:
        _save(_cache_file(path), {name: cache[name]})
    return FileInfo(path=name, size=size, sha256=sha256)


def folder_info(
    folder: Path, keep: Callable[[str], bool] = lambda name: True, fresh: bool = False
) -> FileInfo:
    """Return the digest of the list of a folder's files. keep: whether a file name counts."""
    cached = _cache_file(folder)
    before = {} if fresh else _load(cached)
    cache = dict(before)
    digests: dict[str, str] = {}
    size = 0
    for path in _files(folder):
        if keep(path.name):
            name = path.relative_to(folder).as_posix()
            length = _size(path)
            digests[name] = f"{length} {_digest(path, cache, name)}"
            size += length
    cache = {name: cache[name] for name in digests if name in cache}
    if cache != before and not fresh:
        with contextlib.suppress(OSError):
            if {n: sha for n, (_, sha) in before.items()} != {n: s for n, (_, s) in cache.items()}:
                os.replace(cached, _before(cached))
        _save(cached, cache)
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    sha256 = hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()
    return FileInfo(path=str(folder), size=size, sha256=sha256, files=len(digests))


def changed_inside(folder: Path) -> str:
    """Return the first file of a folder that is not as it was before the folder changed last; "" if
    that is not known."""
    cached = _cache_file(folder)
    then, now = _load(_before(cached)), _load(cached)
    names = sorted(then.keys() | now.keys()) if then else []
    return next((n for n in names if then.get(n, ([], ""))[1] != now.get(n, ([], ""))[1]), "")


def _digest(path: Path, cache: Digests, name: str = "") -> str:
    """Return a file's digest, and put it into `cache`. With the stat of no file, if it changed a
    moment ago."""
    name = name or str(path)
    try:
        now = _stat(path)
        if name in cache and cache[name][0] == now:
            return cache[name][1]
        sha256 = sha256_of(path)
        settled = _stat(path) == now and time.time_ns() - max(now[2:]) > _SETTLED_NS
        cache[name] = (now if settled else [], sha256)
    except OSError:
        return ""
    return sha256


def _stat(path: Path) -> Stat:
    info = os.stat(path)
    return [info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns]


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return os.stat(path).st_size
    return 0


def _files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, of links those that lead to a file."""
    for parent, below, names in os.walk(folder):
        below[:] = [name for name in below if name not in _LEFT_OUT]
        for name in names:
            path = Path(parent, name)
            if name not in _LEFT_OUT:
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(os.stat(path).st_mode):
                        yield path


def _cache_file(path: Path) -> Path:
    name = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "files" / f"{name}.json"


def _before(cached: Path) -> Path:
    return cached.with_suffix(".before")


def _load(path: Path) -> Digests:
    try:
        content = json.loads(path.read_bytes())
        return {
            str(name): ([*map(int, numbers)], str(sha)) for name, (numbers, sha) in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _save(path: Path, digests: Digests) -> None:
    """Save digests for the next process; without a cache folder they are computed again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, delete=False, encoding="utf-8"
        ) as part:
            json.dump(digests, part, separators=(",", ":"))
        os.replace(part.name, path)
