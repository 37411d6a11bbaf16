"""The packages of the test vectors: each has the kit, and what its README shows runs."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sampler_parity.vectors.kit import kit_of
from sampler_parity.vectors.written import write
from scripts.vector_packages import RUNNERS, TOOLS, pack


@pytest.mark.slow
@pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason="no cargo, or no npm")
def test_each_package_has_the_kit_and_runs_as_its_readme_shows(tmp_path: Path) -> None:
    write(kit_of(["parity/top_k"], "quick", 12), tmp_path / "kit")
    crate, npm, wheel = pack(tmp_path / "kit", tmp_path / "packages")

    with tarfile.open(crate) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "crate", filter="data")
    assert [name for name in names if name.endswith("kit/vectors/top_k.json")]
    (folder,) = (tmp_path / "crate").iterdir()
    shutil.copytree(RUNNERS / "rust" / "tests", folder / "tests")
    for path in (folder / "tests").iterdir():
        path.write_text(path.read_text().replace("run_vectors::", "sampler_vectors::"))
    here = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}
    checked = ["cargo", "check", "--quiet", "--offline", "--tests"]
    subprocess.run(checked, cwd=folder, check=True, env=here)

    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", "--offline", str(npm)], cwd=project, check=True)
    printed = ["node", "-p", 'require("sampler-vectors").kit']
    kit = subprocess.check_output(printed, cwd=project, encoding="utf-8").strip()
    shutil.copy(project / "node_modules/sampler-vectors/run_vectors.test.mjs", project)
    shutil.copy(RUNNERS / "javascript" / "small_sampler.mjs", project)
    for fault, status in (("", 0), ("ties", 1)):
        tests = {**os.environ, "VECTORS": kit, "FAULT": fault}
        tests.pop("NODE_TEST_CONTEXT", None)
        run = ["node", "--test", "run_vectors.test.mjs"]
        assert subprocess.run(run, cwd=project, env=tests, capture_output=True).returncode == status

    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)
    printed = [sys.executable, "-c", "import sampler_vectors; print(sampler_vectors.KIT)"]
    with_site = {**os.environ, "PYTHONPATH": str(site)}
    installed = subprocess.check_output(printed, env=with_site, encoding="utf-8").strip()
    assert (Path(installed) / "vectors" / "top_k.json").is_file()
    assert (Path(installed).parent / "run_vectors.py").is_file()
