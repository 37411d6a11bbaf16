"""`make release-check`: each check, with the fault that it must detect."""

import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts.release.archives import contents, copy, differences, settled
from scripts.release.locks import packages
from scripts.release.materials import unlocked
from scripts.release.parts import PARTS, unnamed
from scripts.release.signatures import OPENPGP, SIGSTORE, SUMS, signatures, sums
from scripts.release.stated import changelog, versions

ROOT = Path(__file__).resolve().parent.parent.parent


def wheel(path: Path, files: dict[str, str], year: int = 2026) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), text)
    return path


@pytest.mark.parametrize(
    ("files", "year", "message"),
    [
        ({"m.py": "2"}, 2026, "x.whl: two builds differ: m.py"),
        ({"m.py": "1", "n.py": ""}, 2026, "x.whl: two builds differ: n.py"),
        ({"m.py": "1"}, 2025, "x.whl: two builds differ: in order, times or modes"),
    ],
    ids=["content", "one more", "time"],
)
def test_archives_that_differ_are_named_with_the_member(
    tmp_path: Path, files: dict[str, str], year: int, message: str
) -> None:
    wheel(tmp_path / "a" / "x.whl", {"m.py": "1"})
    wheel(tmp_path / "b" / "x.whl", files, year)
    assert differences(tmp_path / "a", tmp_path / "b") == [message]


def test_an_archive_that_one_build_lacks_is_named(tmp_path: Path) -> None:
    wheel(tmp_path / "a" / "x.whl", {})
    (tmp_path / "b").mkdir()
    lines = differences(tmp_path / "a", tmp_path / "b")
    assert lines == ["x.whl: made by one of two builds alone"]


def source_archive(names: list[str], now: int, owner: str) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as members:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.uid = len(name), now, owner, now
            member.mode = 0o664 if owner else 0o600
            members.addfile(member, io.BytesIO(name.encode()))
    return gzip.compress(plain.getvalue(), mtime=now)


def test_a_settled_archive_has_no_time_owner_or_order_of_its_making(tmp_path: Path) -> None:
    first = source_archive(["p/b", "p/a"], now=1_000, owner="one")
    second = source_archive(["p/a", "p/b"], now=2_000, owner="")
    assert first != second
    assert settled(first, 5) == settled(second, 5)
    (tmp_path / "x.tar.gz").write_bytes(settled(first, 5))
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("p/a", "p/b")}
    assert contents(tmp_path / "x.tar.gz") == digests


def test_what_git_does_not_track_gets_into_no_archive(tmp_path: Path) -> None:
    root, compiled = tmp_path / "root", "engines/tsampler"
    (root / compiled / "src" / "api").mkdir(parents=True)
    (root / compiled / "dist" / "api").mkdir(parents=True)
    for name in ("a.py", "secret.txt", f"{compiled}/src/api/x.ts"):
        (root / name).write_text("")
    for name in ("x.js", "of_no_source.js"):
        (root / compiled / "dist" / "api" / name).write_text("")
    (root / "a.py").chmod(0o600)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "add", "a.py", f"{compiled}/src"], cwd=root, check=True)
    copy(root, tmp_path / "copy")
    files = {p.relative_to(tmp_path / "copy").as_posix() for p in tmp_path.glob("copy/**/*.*")}
    assert files == {"a.py", f"{compiled}/src/api/x.ts", f"{compiled}/dist/api/x.js"}
    assert (tmp_path / "copy" / "a.py").stat().st_mode & 0o777 == 0o644


def document(root: Path) -> dict[str, object]:
    components = [
        {"name": row.name, "version": row.version,
         "hashes": [{"content": digest.split(":")[1]} for digest in row.digests]}
        for row in packages(root)
    ]  # fmt: skip
    return {"components": components}


def test_a_locked_package_or_digest_that_the_bill_lacks_is_named() -> None:
    whole = document(ROOT)
    assert unlocked(whole, ROOT) == []
    rows = whole["components"]
    assert isinstance(rows, list)
    (scipy,) = (row for row in rows if row["name"] == "scipy")
    scipy["hashes"].pop()
    assert unlocked(whole, ROOT) == ["locked.txt: 1 digests are not in the bill"]
    version, scipy["version"] = scipy["version"], "0.1"
    lines = unlocked(whole, ROOT)
    assert lines[0] == f"locked.txt: scipy {version} is not in the bill of materials"


def members() -> dict[str, bytes]:
    """Return the files of the wheel that the parts name, and one of ours."""
    names = [path for part in PARTS for file in part.files for path in ROOT.glob(file)]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in names}


def test_text_of_others_that_no_part_names_is_named() -> None:
    files = members()
    assert unnamed(files) == []
    line = "harness/new.py: has text of others that no part of scripts/release/parts.py names"
    assert unnamed(files | {"harness/new.py": b"# MIT License, their text"}) == [line]


def test_a_part_of_no_file_is_named() -> None:
    files = members()
    del files["reference/platforms/msvc.py"]
    part = "Microsoft STL: reference/platforms/msvc.py of scripts/release/parts.py"
    assert unnamed(files) == [f"{part} is no file of the wheel"]


def test_no_file_of_the_packages_has_text_of_others_that_no_part_names() -> None:
    tracked = subprocess.run(
        ["git", "grep", "-lIiE", "copyright|MIT license|Sun Microsystems", "--", "harness",
         "reference", "reports", "suites", "golden", ":!*.json"],
        cwd=ROOT, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    files = members() | {name: (ROOT / name).read_bytes() for name in tracked}
    assert unnamed(files) == []
    assert "suites/grammar/gbnf.toml" in tracked


HEAD = "# Changelog\n\n"
RELEASED = "## [1.2.0] - 2026-01-02\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("text", "entries", "tag", "problem"),
    [
        (HEAD + RELEASED, [], "v1.2.0", ""),
        (HEAD, ["a.fixed.md"], "", ""),
        (HEAD, [], "v1.2.0", "must be [1.2.0] - DATE, it is none"),
        (HEAD + RELEASED, [], "v1.3.0", "tag v1.3.0: pyproject.toml has the version 1.2.0"),
        (HEAD + "## [1.2.0]\n", [], "v1.2.0", "[1.2.0] has no date"),
        (HEAD + RELEASED, ["a.fixed.md"], "v1.2.0", "a.fixed.md belong to [1.2.0]"),
        (HEAD + RELEASED, ["README.md"], "v1.2.0", ""),
        (HEAD + "## [1.10.0] - 2026-01-03\n" + RELEASED, [], "", "[1.10.0] is newer than"),
        (HEAD + "## [1.10.0] - 2026-01-03\n" + RELEASED, [], "v1.2.0", "it is [1.10.0]"),
    ],
)
def test_changelog_has_the_version_and_no_entry_waits(
    tmp_path: Path, text: str, entries: list[str], tag: str, problem: str
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(text)
    (tmp_path / "changes").mkdir()
    for name in entries:
        (tmp_path / "changes" / name).write_text("An entry.\n")
    lines = changelog(tmp_path, tag)
    assert len(lines) == bool(problem)
    assert problem in "".join(lines)


def test_versions_agree_wherever_they_stand() -> None:
    assert versions(ROOT) == []
    assert changelog(ROOT, "") == []


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("README.md", "finding 1 of ", "finding 1 of 1", "README.md: states 1"),
        ("README.md", "Python 3.11 or later", "Python 3.10 or later", "README.md: states 3.10"),
        ("README.md", "Python 3.11 or later", "A Python", "README.md: nothing fits Python"),
        ("README.md", "# sampler-parity", "# sampler-parity 9.9.9", "names sampler-parity 9.9.9"),
        (
            "docs/findings.md",
            "measured with llama.cpp v",
            "measured with llama.cpp v9",
            "states v9",
        ),
        ("locked.txt", "llama-cpp-python==", "llama-cpp-python==1", "locked.txt: states 1"),
        ("pyproject.toml", 'version = "', 'version = "9', "__init__.py: states 0.1.0, not 90.1.0"),
    ],
)
def test_a_page_that_states_another_version_is_named(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    for name in ("README.md", "action.yml", "pyproject.toml", "locked.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("engines", "harness", "reference", "sampler_parity"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "findings.md", tmp_path / "docs")
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    lines = versions(tmp_path)
    assert [line for line in lines if message in line] == lines != []


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "x.whl").write_bytes(b"a wheel")
    (tmp_path / SUMS).write_text(sums(tmp_path))
    return tmp_path


def sigstore(folder: Path, content: bytes) -> None:
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    bundle = {"messageSignature": {"messageDigest": {"digest": digest}}}
    (folder / SIGSTORE).write_text(json.dumps(bundle))


def test_a_release_may_wait_for_its_signature_until_it_is_required(dist: Path) -> None:
    assert (dist / SUMS).read_text() == f"{hashlib.sha256(b'a wheel').hexdigest()}  x.whl\n"
    assert signatures(dist, required=False) == []
    assert signatures(dist, required=True) == [f"{SUMS}: has no signature: {OPENPGP} or {SIGSTORE}"]
    sigstore(dist, (dist / SUMS).read_bytes())
    assert signatures(dist, required=True) == []


def test_a_file_that_changed_behind_its_digest_is_named(dist: Path) -> None:
    (dist / "x.whl").write_bytes(b"another")
    assert signatures(dist, required=False) == [f"{SUMS}: does not match the files next to it"]


def test_signatures_of_other_bytes_or_in_other_places_are_named(dist: Path) -> None:
    sigstore(dist, b"other sums")
    (dist / f"{SUMS}.sig").write_bytes(b"")
    (dist / OPENPGP).write_text("no signature")
    lines = signatures(dist, required=True)
    assert lines[0] == f"{SUMS}.sig: is no place of a signature"
    assert lines[1].startswith(f"{OPENPGP}: ")
    assert lines[2] == f"{SIGSTORE}: is of other bytes"
    (dist / SIGSTORE).write_text("[]")
    assert f"{SIGSTORE}: is no signature as `sigstore sign` makes one" in signatures(dist, True)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commit the checkout as it is, with all that compiling and installing takes."""
    subprocess.run(["make", "tsampler"], cwd=ROOT, check=True, capture_output=True)
    python = ROOT / ".venv-release" / "bin" / "python"
    if not python.is_file():
        subprocess.run(["python3", "-m", "venv", str(ROOT / ".venv-release")], check=True)
    install = [str(python), "scripts/install.py", "release"]
    subprocess.run(install, cwd=ROOT, check=True, capture_output=True)
    root = tmp_path_factory.mktemp("release") / "clone"
    copy(ROOT, root)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=root, check=True)
    commit(root)
    return root


def commit(root: Path) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@test.invalid", "-c", "commit.gpgsign=no"]
    subprocess.run(["git", *who, "commit", "-qam", "Now", "--allow-empty"], cwd=root, check=True)


def check(root: Path, *options: str) -> tuple[int, str]:
    python = str(ROOT / ".venv-release" / "bin" / "python")
    command = [python, "-m", "scripts.release", *options]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_tagged_release_passes_and_what_is_wrong_with_the_next_is_named(clone: Path) -> None:
    for entry in (clone / "changes").glob("*.*.md"):
        entry.unlink()
    commit(clone)
    status, message = check(clone, "--tag", "v0.1.0")
    assert (status, message.splitlines()[-1]) == (0, "release-check: pass"), message
    assert len((clone / "dist" / SUMS).read_text().splitlines()) == 3

    sigstore(clone / "dist", (clone / "dist" / SUMS).read_bytes())
    project = clone / "pyproject.toml"
    project.write_text(project.read_text().replace('readme = "README.md"', 'readme = "a.rst"'))
    (clone / "a.rst").write_text("=\nNo title\n===\n`open\n")
    subprocess.run(["git", "add", "a.rst"], cwd=clone, check=True)
    status, message = check(clone, "--tag", "v0.1.0", "--signed")
    problems = [line for line in message.splitlines() if line.startswith("FAILED")]
    assert (status, len(problems)) == (1, 3), message
    assert "has what is not committed" in problems[0]
    assert problems[1].startswith("FAILED metadata: ")
    assert problems[2] == f"FAILED {SIGSTORE}: is of other bytes"


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg")
def test_a_good_openpgp_signature_is_taken_and_that_of_other_sums_is_not(
    dist: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("k")
    monkeypatch.setenv("GNUPGHOME", str(home))
    gpg = ["gpg", "--batch", "--passphrase", "", "--pinentry-mode", "loopback"]
    make = [*gpg, "--quick-generate-key", "test@test.invalid", "ed25519", "sign"]
    subprocess.run(make, check=True, capture_output=True)
    sign = [*gpg, "--armor", "--detach-sign", str(dist / SUMS)]
    subprocess.run(sign, check=True, capture_output=True)
    assert signatures(dist, required=True) == []
    (dist / "x.whl").write_bytes(b"another")
    (dist / SUMS).write_text(sums(dist))
    (line,) = signatures(dist, required=True)
    assert line.startswith(f"{OPENPGP}: is not a good signature of {SUMS}")
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False, capture_output=True)
