"""The files of a backend: which they are, and that a change of each is seen."""

import os
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sampler_parity.harness.backends import artifact as hashed
from sampler_parity.harness.backends import registry
from sampler_parity.harness.backends.artifact import MadeOf, info_of
from sampler_parity.harness.bundle.info import digest_of
from sampler_parity.harness.errors import ChangedFilesError
from sampler_parity.harness.files import sha256_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(hashed, "_CACHE", {})
    return tmp_path / "cache"


def names(folder: Path, *command: str | Path) -> list[str]:
    """Return the files of a command that lie in a folder."""
    files = MadeOf("mine", [*map(str, command)]).files()
    inside = [Path(file.path) for file in files if Path(file.path).is_relative_to(folder)]
    return sorted(path.relative_to(folder).as_posix() for path in inside)


def written(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def of_script(folder: Path, *words: str) -> MadeOf:
    """Return the files of a.py in a folder, run by our Python."""
    return MadeOf("mine", [sys.executable, str(folder / "a.py"), *words])


def test_program_is_found_on_path_and_behind_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    shutil.copy("/bin/sh", real)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mine").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (program,) = MadeOf("mine", ["mine", "--fast"]).files()
    assert (program.path, program.sha256) == (str(real), sha256_of(real))


def test_interpreter_of_a_script_is_bound(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text(f"#!/usr/bin/env -S {sys.executable} -I\n")
    script.chmod(0o755)
    paths = [file.path for file in MadeOf("mine", [str(script)]).files()]
    assert {str(Path(sys.executable).resolve()), str(script)} <= {*paths}


def test_files_that_the_command_names_are_bound(tmp_path: Path) -> None:
    written(tmp_path, a_py="", model_bin="m", table_bin="t")
    words: list[str | Path] = [tmp_path / "a.py", f"--model={tmp_path / 'model.bin'}"]
    found = names(tmp_path, sys.executable, *words, tmp_path / "table.bin")
    assert found == ["a.py", "model.bin", "table.bin"]


def test_program_behind_env_and_in_a_shell_is_bound(tmp_path: Path) -> None:
    written(tmp_path, a_py="")
    python = Path(sys.executable)
    for words in (
        ["env", "A=1", python, tmp_path / "a.py"],
        ["sh", "-c", f"exec {python} {tmp_path / 'a.py'}"],
    ):
        files = {file.path for file in MadeOf("mine", [*map(str, words)]).files()}
        assert {str(python.resolve()), str(tmp_path / "a.py")} <= files


def test_what_javascript_loads_from_beside_it_is_bound(tmp_path: Path) -> None:
    written(
        tmp_path,
        a_mjs='import { b } from "./lib/b.mjs";\nawait import(`./d.js`);\nimport "node:fs";',
        lib__b_mjs="const c = require('../c');\nnew URL('./w.wasm', import.meta.url)",
        c_js="// import './a.mjs'",
        d_js="",
        lib__w_wasm="w",
        package_json="{}",
        other_mjs="",
    )
    expected = ["a.mjs", "c.js", "d.js", "lib/b.mjs", "lib/w.wasm", "package.json"]
    assert names(tmp_path, shutil.which("sh") or "sh", tmp_path / "a.mjs") == expected


def test_what_python_loads_from_beside_it_is_bound(tmp_path: Path) -> None:
    written(
        tmp_path,
        a_py="import os, b as c\nif True:\n    from d.e import f\nimport json",
        b_py="import g",
        d__e_py="",
        d__data_txt="x",
        g_py="",
        other_py="",
        json__data_txt="no package: Python loads its own",
    )
    command = [sys.executable, str(tmp_path / "a.py")]
    assert names(tmp_path, *command) == ["a.py", "b.py", "d", "g.py"]
    assert [file.files for file in MadeOf("mine", command).files() if file.files] == [2]


def test_module_of_the_current_folder_is_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, mine____init___py="", mine__adapter_py="import helper", helper_py="")
    monkeypatch.chdir(tmp_path)
    found = names(tmp_path, sys.executable, "-m", "mine.adapter")
    assert "helper.py" in found
    assert "mine" in found


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        (["-I", "adapter.py"], False),
        (["-P", "adapter.py"], True),
        (["adapter.py"], True),
        (["adapter.py", "-I"], True),
    ],
)
def test_what_python_loads_from_its_path_is_bound_unless_it_is_isolated(
    words: list[str], bound: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    written(tmp_path, elsewhere__theirs_py="", adapter_py="import theirs")
    loaded = ["elsewhere/theirs.py"] if bound else []
    assert names(tmp_path, sys.executable, *words) == ["adapter.py", *loaded]


def test_change_of_a_file_is_raised_with_both_digests(tmp_path: Path) -> None:
    written(tmp_path, a_py="one")
    made = of_script(tmp_path)
    made()
    made()
    then = sha256_of(tmp_path / "a.py")
    written(tmp_path, a_py="two")
    now = sha256_of(tmp_path / "a.py")
    shown = f"sha256 {then[:12]} then, {now[:12]} now"
    for check in (made, made.check_files):
        with pytest.raises(ChangedFilesError, match=shown) as caught:
            check()
        assert str(caught.value).startswith(f"{tmp_path / 'a.py'}: changed during the run of mine")


def test_file_with_the_same_size_and_mtime_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one")
    os.utime(path, ns=(1, 1))
    made = of_script(tmp_path)
    made()
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    with pytest.raises(ChangedFilesError):
        made()


def test_file_that_the_backend_writes_and_its_command_names_is_no_change(tmp_path: Path) -> None:
    written(tmp_path, a_py="")
    made = of_script(tmp_path, f"--log={tmp_path / 'x.log'}")
    made()
    written(tmp_path, x_log="started")
    made()


def test_new_module_that_hides_another_is_a_change(tmp_path: Path) -> None:
    written(tmp_path, a_py="import json")
    made = of_script(tmp_path)
    made()
    written(tmp_path, json_py="")
    with pytest.raises(ChangedFilesError, match=r"json\.py: changed .* sha256 none then"):
        made()


def test_change_in_a_folder_of_packages_names_the_file(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    written(packages, a__b_py="one", a__c_py="c", __pycache____x_pyc="x")
    made = MadeOf("mine", ["sh"], [packages])
    made()
    written(packages, __pycache____x_pyc="another")  # Python writes these in mid-run
    made()
    written(packages, a__b_py="two")
    for _ in range(2):
        with pytest.raises(ChangedFilesError) as caught:
            made()
        assert str(caught.value).startswith(f"{packages / 'a/b.py'}: changed during the run")


def test_digest_is_that_of_names_and_contents(tmp_path: Path) -> None:
    written(tmp_path, one__a_py="x", two__a_py="x", three__a_py="y")
    one, two, three = ([info_of(tmp_path / n / "a.py")] for n in ("one", "two", "three"))
    assert digest_of(one) == digest_of(two) != digest_of(three)
    assert digest_of([]) == ""


def test_settled_files_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "packages"
    written(folder, a_py="x")
    monkeypatch.setattr(hashed, "_SETTLED_NS", -1)
    before = info_of(folder)
    monkeypatch.setattr(hashed, "sha256_of", lambda path: "read again")
    assert info_of(folder) == before
    assert info_of(folder, fresh=True).sha256 != before.sha256


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a.py": 1}', '{"a.py": [["x"], 2]}'])
def test_damaged_cache_is_not_used(tmp_path: Path, content: str) -> None:
    folder = tmp_path / "packages"
    written(folder, a_py="x")
    before = info_of(folder)
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text(content)
    assert info_of(folder) == before


def bound(name: str) -> list[Path]:
    """Return the files and folders of a backend."""
    with closing(registry.start(name)) as process:
        assert isinstance(process.check, MadeOf)
        return [Path(file.path) for file in process.check.files()]


def test_libraries_of_llama_cpp_are_bound() -> None:
    assert any(path.name.startswith("libllama") for path in bound("llama.cpp"))


def test_code_of_an_engine_of_ours_is_bound() -> None:
    folders = [path.name for path in bound("power_law") if path.is_dir()]
    assert folders == ["power_law", "shared"]
