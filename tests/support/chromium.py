"""A headless Chromium, if one is installed: the width of a page, its load time and its console
output.

Its start takes a second, so pages are opened together, in all widths.
"""

import html
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
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
_FRAME = """<iframe onload="loaded()" srcdoc="{page}"
style="border:0;width:{width}px;height:900px"></iframe>"""
# Fades follow the scroll position from the second picture on. The text is written when loading
# ends, so an open document holds the end until two pictures were made.
_MEASURED = Path(__file__).with_name("measured.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Seen:
    """scroll_width in CSS pixels; console: its lines, policy violations and script errors too, of
    all pages that were looked at together.

    opened_ms: from the start of the navigation until the page is loaded and laid out. answer: what
    was asked of it, in JavaScript.
    """

    scroll_width: int
    title: str
    console: list[str]
    opened_ms: int = field(default=0, compare=False)
    answer: str = field(default="", compare=False)


See = Callable[..., list[Seen]]  # a page or several, and widths: as the fixture `see` looks at them


def chromium() -> str | None:
    programs = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, programs), None)


def look(
    program: str,
    pages: Sequence[str],
    widths: Sequence[int],
    folder: Path,
    act: str = "(page) => ''",
) -> list[Seen]:
    """Load each page in a frame of each width, in this order. folder: a new one, for the profile.
    act: a function of the loaded document, what it returns is the answer.

    Tries twice: on a busy machine a browser may not start in time. Raises RuntimeError when
    it did not measure the page; what it measured is never tried again.
    """
    folder.mkdir()
    path = folder / "frame.html"
    frames = [
        _FRAME.format(page=html.escape(page), width=width) for page in pages for width in widths
    ]
    start = '<!doctype html><meta charset="utf-8"><body>'
    path.write_text("\n".join([start, _MEASURED % (act, len(frames)), *frames]), encoding="utf-8")
    reason = ""
    for attempt in ("1", "2"):
        profile = f"--user-data-dir={folder / attempt}"
        command = [program, *FLAGS, profile, "--window-size=1400,900", "--dump-dom", path.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            reason = "no end within 60 s"
            continue
        measured = re.findall(
            r'<p data-measured="(\d+)/(\d+)/([^"]*)" data-answer="([^"]*)"', done.stdout
        )
        if measured:
            console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
            return [
                Seen(int(w), html.unescape(t), console, int(ms), html.unescape(answer))
                for w, ms, t, answer in measured
            ]
        reason = f"exit status {done.returncode}: {done.stderr[-500:]}"
    raise RuntimeError(f"{program} did not measure the page: {reason}")
