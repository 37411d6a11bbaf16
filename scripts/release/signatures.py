"""SHA256SUMS and the places of its signatures: a signature of that file covers all files it names.

    SHA256SUMS.asc              gpg --armor --detach-sign SHA256SUMS
    SHA256SUMS.sigstore.json    sigstore sign SHA256SUMS

A signature is made by a person, with a key that no workflow has.
"""

import base64
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

SUMS = "SHA256SUMS"
OPENPGP, SIGSTORE = f"{SUMS}.asc", f"{SUMS}.sigstore.json"


def sums(folder: Path) -> str:
    """Return the digests as `sha256sum` writes them, and checks them with -c."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = [path for path in paths if not path.name.startswith(SUMS)]
    return "".join(f"{_digest(path)}  {path.name}\n" for path in files)


def signatures(folder: Path, required: bool) -> list[str]:
    """Return a line for each mismatch. required: at least one signature must be there."""
    stated = (folder / SUMS).read_text(encoding="utf-8")
    lines = [] if stated == sums(folder) else [f"{SUMS}: does not match the files next to it"]
    strangers = {p.name for p in folder.glob(f"{SUMS}*")} - {SUMS, OPENPGP, SIGSTORE}
    lines += [f"{name}: is no place of a signature" for name in sorted(strangers)]
    if (folder / OPENPGP).is_file():
        lines += _openpgp(folder)
    if (folder / SIGSTORE).is_file():
        lines += _sigstore(folder)
    if required and not any((folder / name).is_file() for name in (OPENPGP, SIGSTORE)):
        lines.append(f"{SUMS}: has no signature: {OPENPGP} or {SIGSTORE}")
    return lines


def _openpgp(folder: Path) -> list[str]:
    if not shutil.which("gpg"):
        return [f"{OPENPGP}: cannot be verified, gpg is not there"]
    command = ["gpg", "--batch", "--verify", str(folder / OPENPGP), str(folder / SUMS)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    if not done.returncode:
        return []
    lines = done.stderr.strip().splitlines() or ["gpg printed nothing"]
    return [f"{OPENPGP}: is not a good signature of {SUMS}: {lines[-1]}"]


def _sigstore(folder: Path) -> list[str]:
    """Check the digest that the signature states; `sigstore verify` checks the signer."""
    try:
        bundle = json.loads((folder / SIGSTORE).read_text(encoding="utf-8"))
        digest = base64.b64decode(bundle["messageSignature"]["messageDigest"]["digest"]).hex()
    except (ValueError, KeyError, TypeError):
        return [f"{SIGSTORE}: is no signature as `sigstore sign` makes one"]
    return [] if digest == _digest(folder / SUMS) else [f"{SIGSTORE}: is of other bytes"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
