"""`gate --statement` and `--verify`: in-toto's format, signed by OpenSSL, refused once changed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from in_toto_attestation.v1.statement import Statement

from sampler_parity.harness.errors import EXTRAS
from sampler_parity.harness.gate.statement import PREDICATE
from tests.support.command_line import Done, cli, refused
from tests.support.two_programs import digest_of, make_bundles

POLICY = """\
schema_version = 1
[subject]
name = "mine 1.2.0"
backends = ["mine"]
sha256 = ["{sha256}"]
[[parity]]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with bundles, a policy for each, and the statement of the right one."""
    made = tmp_path_factory.mktemp("statement")
    make_bundles(made, ("parity/greedy",), minimized=False)
    for name in ("right", "wrong"):
        text = POLICY.format(sha256=digest_of(made / f"{name}.py"))
        (made / f"{name}.toml").write_text(text, encoding="utf-8")
    assert gate(made, "right", "--statement", made / "right.json").returncode == 0
    return made


def gate(folder: Path, name: str, *options: str | Path) -> Done:
    return cli("gate", folder / name, "--policy", folder / f"{name}.toml", *options)


@pytest.mark.slow
def test_statement_names_the_released_file_the_bundle_the_policy_and_the_result(
    folder: Path,
) -> None:
    made = json.loads((folder / "right.json").read_text(encoding="utf-8"))
    released = {"name": "mine 1.2.0", "digest": {"sha256": digest_of(folder / "right.py")}}
    assert made["subject"] == [released]
    assert (made["predicateType"], made["predicate"]["result"]) == (PREDICATE, "PASSED")
    configuration = {c["name"]: c["digest"] for c in made["predicate"]["configuration"]}
    assert configuration["policy"] == {"sha256": digest_of(folder / "right.toml")}
    both = folder / "both"
    names = ("run.json", "results.jsonl")
    both.write_bytes(b"".join((folder / "right" / name).read_bytes() for name in names))
    assert configuration["bundle"] == {"sha256": digest_of(both)}


@pytest.mark.slow
def test_statement_is_one_for_the_library_of_the_format(folder: Path) -> None:
    from google.protobuf.json_format import Parse

    read = Statement([], "", {})
    Parse((folder / "right.json").read_bytes(), read.pb)
    read.validate()


@pytest.mark.slow
def test_statement_of_a_wrong_sampler_says_that_it_failed(folder: Path) -> None:
    path = folder / "wrong.json"
    assert gate(folder, "wrong", "--statement", path).returncode == 1
    predicate = json.loads(path.read_text(encoding="utf-8"))["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["parity"])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_signed_statement_is_verified_and_refused_after_one_byte_changed(
    folder: Path, tmp_path: Path
) -> None:
    statement = shutil.copy(folder / "right.json", tmp_path)
    key, public, signature = (tmp_path / name for name in ("key.pem", "public.pem", "signature"))

    def openssl(*arguments: str | Path) -> int:
        done = subprocess.run(["openssl", *arguments], capture_output=True, check=False)
        return done.returncode

    assert openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key) == 0
    assert openssl("ec", "-in", key, "-pubout", "-out", public) == 0
    sign, verify = ("-sign", key, "-out"), ("-verify", public, "-signature")
    assert openssl("dgst", "-sha256", *sign, signature, statement) == 0
    assert openssl("dgst", "-sha256", *verify, signature, statement) == 0
    assert gate(folder, "right", "--verify", statement).returncode == 0
    content = bytearray(Path(statement).read_bytes())
    content[content.index(b"1.2.0")] ^= 1
    Path(statement).write_bytes(content)
    assert openssl("dgst", "-sha256", *verify, signature, statement) != 0
    done = gate(folder, "right", "--verify", statement)
    assert done.returncode == 1
    assert "does not match this bundle: subject differs" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://example.org/x"),
        ("subject", []),
        ("predicate", {}),
        ("more", 1),
    ],
)
def test_statement_with_any_other_field_is_refused(
    place: str, value: object, folder: Path, tmp_path: Path
) -> None:
    made = json.loads((folder / "right.json").read_text(encoding="utf-8"))
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(made | {place: value}), encoding="utf-8")
    assert gate(folder, "right", "--verify", path).returncode == 1


@pytest.mark.slow
def test_statement_of_another_bundle_or_policy_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "policy.toml"
    other.write_text((folder / "right.toml").read_text(encoding="utf-8") + "# more\n", "utf-8")
    statement = folder / "right.json"
    done = cli("gate", folder / "right", "--policy", other, "--verify", statement)
    assert "predicate.configuration differs" in done.stdout
    assert gate(folder, "wrong", "--verify", statement).returncode == 1


@pytest.mark.slow
def test_statement_needs_a_subject_and_a_gate_that_recomputes(folder: Path) -> None:
    path = folder / "none.json"
    assert "names no subject" in refused(cli("gate", folder / "right", "--statement", path))
    command = ("--no-recompute", "--statement", path)
    assert "--no-recompute" in refused(gate(folder, "right", *command))
    assert not path.exists()


@pytest.mark.slow
def test_file_that_is_no_statement_is_refused_in_one_line(folder: Path) -> None:
    for text in ("{", "[]", "\0"):
        path = folder / "bad.json"
        path.write_text(text, encoding="utf-8")
        assert "is not a statement" in refused(gate(folder, "right", "--verify", path))


@pytest.mark.slow
def test_statement_says_which_extra_it_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "attest", ("sampler_parity_has_no_such_module",))
    line = refused(gate(folder, "right", "--statement", folder / "none.json"))
    assert "pip install 'sampler-parity[attest]'" in line
