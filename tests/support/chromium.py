"""A headless Chromium, where one is installed: how wide a page is, how long it takes to open, and
what its console says."""

import html
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
]

# A window is never narrower than 500 px, a frame is. srcdoc gives it the origin of its parent.
_FRAME = """<!doctype html><meta charset="utf-8">
<iframe srcdoc="{page}" style="border:0;width:{width}px;height:900px"></iframe>
<script>
addEventListener('load', () => {{
  const page = document.querySelector('iframe').contentDocument;
  const width = page.documentElement.scrollWidth;  // lays the page out
  document.body.dataset.measured = width + '/' + Math.ceil(performance.now()) + '/' + page.title;
}});
</script>"""


@dataclass(frozen=True)
class Seen:
    """scroll_width in CSS pixels; console: its lines, policy violations and script errors too.

    opened_ms: from the start of the navigation until the page is loaded and laid out.
    """

    scroll_width: int
    title: str
    console: list[str]
    opened_ms: int = field(default=0, compare=False)


See = Callable[[str, int], Seen]  # a page and a width, as the fixture `see` looks at it


def chromium() -> str | None:
    programs = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, programs), None)


def look(program: str, page: str, width: int, folder: Path) -> Seen:
    """Load a page in a frame of this width. folder: a new one, for the profile.

    Tries twice: on a busy machine a browser may not start in time. Raises RuntimeError when
    it did not measure the page; what it measured is never tried again.
    """
    folder.mkdir()
    path = folder / "frame.html"
    path.write_text(_FRAME.format(page=html.escape(page), width=width), encoding="utf-8")
    said = ""
    for attempt in ("1", "2"):
        profile = f"--user-data-dir={folder / attempt}"
        command = [program, *FLAGS, profile, "--window-size=1400,900", "--dump-dom", path.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            said = "no end within 60 s"
            continue
        measured = re.search(r'data-measured="(\d+)/(\d+)/([^"]*)"', done.stdout)
        if measured:
            console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
            return Seen(int(measured[1]), html.unescape(measured[3]), console, int(measured[2]))
        said = f"exit status {done.returncode}: {done.stderr[-500:]}"
    raise RuntimeError(f"{program} did not measure the page: {said}")
