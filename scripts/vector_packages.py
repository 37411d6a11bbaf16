"""Pack the test vectors as a crate, an npm package and a wheel: `make vectors`.

They have the kit, the runner of their language and a README, and nothing of sampler-parity.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNNERS = ROOT / "vectors" / "runners"
NAME = "sampler-vectors"
ABOUT = "Test vectors for LLM token samplers: what llama.cpp leaves, and what is right"
LICENCE = "Apache-2.0"
MAX_BYTES = 5_000_000
TOOLS = ("cargo", "npm")

CARGO = f"""[package]
name = "{NAME}"
version = "{{version}}"
edition = "2021"
description = "{ABOUT}"
license = "{LICENCE}"
readme = "README.md"
"""
IN_RUST = """
/// The folder of the kit.
pub fn kit() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kit")
}
"""
PYPROJECT = f"""[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "{NAME}"
version = "{{version}}"
description = "{ABOUT}"
license = "{LICENCE}"
readme = "README.md"

[tool.setuptools]
packages = ["sampler_vectors"]
package-data = {{{{ sampler_vectors = ["kit/**"] }}}}
"""
IN_PYTHON = '''"""Test vectors for token samplers, and their runner. KIT is their folder."""

from pathlib import Path

KIT = Path(__file__).parent / "kit"
'''
IN_JAVASCRIPT = """// The folder of the kit: VECTORS=$(node -p 'require("sampler-vectors").kit')
exports.kit = require("node:path").join(__dirname, "kit");
"""
USE = {
    "crate": """```rust
use sampler_vectors::{kit, problems};

#[test]
fn top_p_is_right() {
    // MySampler implements sampler_vectors::Sampler
    let report = problems(&kit(), "vectors/top_p", &MySampler);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}
```""",
    "npm": """```sh
npm install --save-dev sampler-vectors
export VECTORS=$(node -p 'require("sampler-vectors").kit')
cp node_modules/sampler-vectors/run_vectors.test.mjs .
SAMPLER=./my_sampler.mjs node --test run_vectors.test.mjs
```""",
    "wheel": """```sh
pip install sampler-vectors pytest
export VECTORS=$(python -c 'import sampler_vectors; print(sampler_vectors.KIT)')
cp $VECTORS/../run_vectors.py .
SAMPLER=my_sampler pytest run_vectors.py
```""",
}


def main() -> int:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"not found: {', '.join(missing)} - install them", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        kit = Path(made) / "kit"
        write = [sys.executable, "-m", "sampler_parity.harness.cli", "vectors", "-o", str(kit)]
        subprocess.run([*write, "--max-vocab", "256"], check=True)
        for path in pack(kit, ROOT / "dist" / "vectors"):
            size = path.stat().st_size
            print(f"{path.relative_to(ROOT)}  {size:,} bytes")
            if size > MAX_BYTES:
                print(f"at most {MAX_BYTES:,} bytes - lower --max-vocab", file=sys.stderr)
                return 2
    return 0


def pack(kit: Path, folder: Path) -> Iterator[Path]:
    """Yield the packages of a kit, made in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for kind, sources, data in (
        ("crate", {"Cargo.toml": CARGO.format(version=version("sampler-parity"))}, "kit"),
        ("npm", {"package.json": _package_json(), "index.cjs": IN_JAVASCRIPT}, "kit"),
        (
            "wheel",
            {"pyproject.toml": PYPROJECT.format(version=version("sampler-parity")),
             "sampler_vectors/__init__.py": IN_PYTHON},
            "sampler_vectors/kit",
        ),
    ):  # fmt: skip
        of = folder / kind
        shutil.copytree(kit, of / data)
        for name, text in sources.items():
            (of / name).write_text(text, encoding="utf-8")
        rules = (kit / "README.md").read_text(encoding="utf-8")
        (of / "README.md").write_text(f"{USE[kind]}\n\n{rules}", encoding="utf-8")
        shutil.copy(kit / "LICENSE", of)
    yield _crate(folder / "crate")
    yield _npm(folder / "npm")
    yield _wheel(folder / "wheel")


def _package_json() -> str:
    files = ["kit", "run_vectors.test.mjs"]
    content = {"name": NAME, "version": version("sampler-parity"), "description": ABOUT}
    return json.dumps(
        {**content, "license": LICENCE, "main": "index.cjs", "files": files}, indent=1
    )


def _crate(folder: Path) -> Path:
    shutil.copytree(RUNNERS / "rust" / "src", folder / "src")
    with (folder / "src" / "lib.rs").open("a", encoding="utf-8") as library:
        library.write(IN_RUST)
    command = ["cargo", "package", "--quiet", "--offline", "--allow-dirty", "--no-verify"]
    target = folder / "target"
    subprocess.run([*command, "--target-dir", str(target)], cwd=folder, check=True)
    return next((target / "package").glob("*.crate"))


def _npm(folder: Path) -> Path:
    shutil.copy(RUNNERS / "javascript" / "run_vectors.test.mjs", folder)
    subprocess.run(["npm", "pack", "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.tgz"))


def _wheel(folder: Path) -> Path:
    shutil.copy(RUNNERS / "python" / "run_vectors.py", folder / "sampler_vectors")
    wheel = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "-w", "made", "."]
    subprocess.run([*wheel, *options], cwd=folder, check=True)
    return next((folder / "made").glob("*.whl"))


if __name__ == "__main__":
    sys.exit(main())
