"""Adapters whose files a test exchanges, and runs that are cut short."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import ROOT

CASES = 6
SUITE = f"""
name = "small"
[[matrix]]
id = "many"
description = "temp and greedy"
why = "something to judge"
chain = [{{ temp = {{ temp = "$t" }} }}, {{ greedy = {{}} }}]
vary = {{ t = [{", ".join(str(n) for n in range(1, CASES + 1))}] }}
families = ["normal"]
sizes = [16]
"""
LOOP = "    for ask in map(json.loads, sys.stdin.buffer):  # UTF-8, also on Windows\n"
C = """
#include <unistd.h>
const char *text = "%s";
int main(int n, char **words) {
  return execl("%s", "python", "-I", "-S", "%s", (char *)0);
}
"""
NODE = """
import { spawn } from "node:child_process";
import { program, words } from "./lib/second.mjs";
const child = spawn(program, words, { stdio: "inherit" });
child.on("exit", (code) => process.exit(code));
"""


def suite(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text(SUITE)
    return path


def python_adapter(path: Path, on_request: str = "") -> list[str]:
    """Write the example adapter; return its command. on_request: a line of Python at each request,
    in which `done` is the number of requests before it."""
    text = (ROOT / "examples/adapter.py").read_text(encoding="utf-8")
    assert text.count(LOOP) == 1
    counted = LOOP.replace("for ask in", "for done, ask in enumerate(").replace(":  #", "):  #")
    body = f"        {on_request or 'pass'}\n"
    path.write_text(text.replace(LOOP, counted + body), encoding="utf-8")
    return [sys.executable, "-I", "-S", str(path)]


def compiled_adapter(path: Path, text: str) -> list[str]:
    """Compile a program that becomes the example adapter; return its command."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = path.with_suffix(".c")
    source.write_text(C % (text, sys.executable, ROOT / "examples/adapter.py"))
    subprocess.run([compiler, "-o", str(path), str(source)], check=True)
    return [str(path)]


def node_adapter(folder: Path) -> list[str]:
    """Write an adapter of two files, of which the second names the program; return its command."""
    if shutil.which("node") is None:
        pytest.skip("no Node.js")
    (folder / "lib").mkdir()
    words = json.dumps(["-I", "-S", str(ROOT / "examples/adapter.py")])
    second = (
        f"export const program = {json.dumps(sys.executable)};\nexport const words = {words};\n"
    )
    (folder / "lib/second.mjs").write_text(second)
    (folder / "first.mjs").write_text(NODE)
    return ["node", str(folder / "first.mjs")]


def cut_short(bundle: Path, kept: int = 3) -> None:
    """Leave the header and the first results of a bundle, as a killed run does."""
    lines = (bundle / "results.jsonl").read_bytes().splitlines(keepends=True)
    (bundle / "results.jsonl").write_bytes(b"".join(lines[: kept + 1]))


def results(bundle: Path) -> list[dict[str, object]]:
    """Return the results that are in a bundle, finished or not."""
    lines = (bundle / "results.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == "case"]
