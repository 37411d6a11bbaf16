"""axe-core, fetched with npm, on a page in a headless Chromium."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

from tests.support.chromium import FLAGS

PACKAGE = "axe-core@4.14.1"
THEMES = {"dark": 0, "light": 1}  # as Chromium counts them

# Folded parts are looked at, too.
_RUN = """<script>
addEventListener('load', async () => {
  document.querySelectorAll('details').forEach((part) => { part.open = true; });
  const found = await axe.run(document, { resultTypes: ['violations'] });
  const broken = found.violations.map((rule) => [rule.id, rule.nodes[0].html.slice(0, 200)]);
  document.body.dataset.axe = JSON.stringify({ rules: found.passes.length, broken });
});
</script>"""


def fetch(folder: Path) -> str:
    """Return the source of axe-core, or "" if npm cannot fetch it."""
    npm = shutil.which("npm")
    if npm is None:
        return ""
    command = [npm, "install", "--silent", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
    try:
        subprocess.run(command, capture_output=True, timeout=120, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def violations(program: str, axe: str, page: str, theme: str, folder: Path) -> list[list[str]]:
    """Return the rules of axe that a page breaks, with the first element. folder: a new one."""
    folder.mkdir()
    source = f"<script>{axe.replace('</script', '<' + chr(92) + '/script')}</script>{_RUN}"
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page, count=1)
    path = folder / "page.html"
    path.write_text(free.replace("</body>", f"{source}</body>"), encoding="utf-8")
    flags = [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=60000"]
    flags += [f"--blink-settings=preferredColorScheme={THEMES[theme]}", "--window-size=1280,900"]
    command = [program, *FLAGS, *flags, "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    answer = re.search(r'data-axe="([^"]*)"', done.stdout)
    if answer is None:
        raise RuntimeError(f"axe printed nothing: {done.stderr[-500:]}")
    result = json.loads(html.unescape(answer[1]))
    assert result["rules"] > 10, "axe looked at nothing"
    violated: list[list[str]] = result["broken"]
    return violated
