"""Every file that is opened as text names its encoding: the default differs on Windows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.engines.worker_command import WORKER_COMMAND
from sampler_parity.harness.protocol.replies import parsed
from tests.support.import_graph import PACKAGES, sources

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = (*PACKAGES, "scripts", "studies", "examples")
RUFF = Path(sys.executable).with_name("ruff")

pytestmark = pytest.mark.skipif(not RUFF.is_file(), reason="ruff is not installed")


def unnamed(root: Path) -> list[str]:
    """Return files that are opened as text without an encoding, as ruff reports them.

    Also programs whose output is read so, and streams of a descriptor, which ruff does not check.
    """
    folders = [name for name in FOLDERS if (root / name).is_dir()]
    options = ["--preview", "--select", "PLW1514", "--output-format", "concise", "-q"]
    check = [str(RUFF), "check", *options, *folders]
    done = subprocess.run(check, cwd=root, capture_output=True, encoding="utf-8")
    lines = [line for line in done.stdout.splitlines() if "PLW1514" in line or ": unspec" in line]
    for folder in folders:
        for path in sources(root, folder):
            text = path.read_text(encoding="utf-8")
            if re.search(r"text=True|fdopen\([^\n]*\"[wr]\"\)", text):
                lines.append(str(path.relative_to(root)))
    return lines


def test_every_text_names_its_encoding() -> None:
    assert unnamed(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        'open("x")',
        'Path("x").read_text()',
        'subprocess.run(["x"], text=True)',
        'os.fdopen(os.dup(1), "w")',
    ],
)
def test_a_text_without_an_encoding_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "harness").mkdir()
    imports = "import os\nimport subprocess\nfrom pathlib import Path\n"
    (tmp_path / "harness" / "new.py").write_text(f"{imports}{line}\n")
    assert len(unnamed(tmp_path)) == 1


@pytest.mark.slow
def test_a_worker_speaks_utf_8_and_loads_nothing_of_the_folder_it_is_started_in(
    tmp_path: Path,
) -> None:
    (tmp_path / "random.py").write_text("raise ImportError('of the project')\n")
    scratch = tmp_path / "ünïcode \U0001f600"
    scratch.write_bytes(b"")
    hello = json.dumps({"do": "hello", "protocol": 1, "scratch": str(scratch)}, ensure_ascii=False)
    done = subprocess.run(
        [*WORKER_COMMAND, "null"],
        input=f'{hello}\n{{"do": "bye"}}\n'.encode(),
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answer = parsed(done.stdout.splitlines()[0])
    assert isinstance(answer, dict)
    assert answer["ok"] is True
