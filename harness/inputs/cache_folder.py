"""The folder of what this package makes for the user."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return where made files live: in the user's cache folder."""
    folder = _cache_of_user(sys.platform) / "sampler-parity"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _cache_of_user(platform: str) -> Path:
    """Return the system's cache folder; XDG_CACHE_HOME names another one anywhere."""
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder)
    if platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    return Path.home() / ("Library/Caches" if platform == "darwin" else ".cache")
