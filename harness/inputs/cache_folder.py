"""The folder of what this package makes for the user."""

import atexit
import os
import sys
from pathlib import Path


def user_folder() -> Path:
    """Return the user's folder, which may be missing: of what must outlive this process."""
    return _cache_of_user(sys.platform) / "sampler-parity"


def cache_folder() -> Path:
    """Return where made files live: in the user's cache folder. If it cannot be made, in a
    temporary one of this process and those that it starts, also for Numba. May raise OSError."""
    folder = user_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        import shutil  # both load more than most commands need
        import tempfile

        temporary = tempfile.mkdtemp(prefix="sampler-parity-cache-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = temporary
        return cache_folder()
    return folder


def _cache_of_user(platform: str) -> Path:
    """Return the system's cache folder; XDG_CACHE_HOME names another one anywhere."""
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder)
    if platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    return Path.home() / ("Library/Caches" if platform == "darwin" else ".cache")
