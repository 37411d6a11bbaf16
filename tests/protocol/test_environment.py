"""A backend gets enough of our environment to run, and no secret."""

import sys
from contextlib import closing
from pathlib import Path

import pytest

from sampler_parity.harness.protocol.environment import small
from sampler_parity.harness.protocol.process import BackendProcess

_SECRETS = {
    "GITHUB_TOKEN": "1",
    "AWS_SECRET_ACCESS_KEY": "1",
    "NODE_AUTH_TOKEN": "1",
    "SAMPLER_PARITY_TOKEN": "1",
    "PYTHON_KEYRING_BACKEND_KEY": "1",
    "ANYTHING_ELSE": "1",
    "SSH_AUTH_SOCK": "1",
}
_NEEDED = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C", "OMP_NUM_THREADS": "1"}


def test_what_is_needed_passes_and_no_secret_does() -> None:
    assert small(_NEEDED | _SECRETS) == _NEEDED


def test_names_are_known_in_any_case() -> None:
    assert small({"SystemRoot": "C:", "Path": "x", "Npm_Token": "y"}) == {
        "SystemRoot": "C:",
        "Path": "x",
    }


# It answers hello with the names of its variables as its device, then ends with its stdin.
_TELLS = """
import json, os, sys
for line in sys.stdin:
    reply = {"ok": True, "name": "a", "version": "1", "device": " ".join(os.environ)[:1000],
             "capabilities": ["run"], "samplers": ["temp"]}
    print(json.dumps(reply), flush=True)
"""


@pytest.mark.slow
def test_an_adapter_is_started_without_our_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in _SECRETS.items():
        monkeypatch.setenv(name, value)
    adapter = tmp_path / "adapter.py"
    adapter.write_text(_TELLS)
    with closing(BackendProcess("a", [sys.executable, "-S", str(adapter)], 20.0)) as backend:
        names = backend.hello().device.split()
    assert "PATH" in names
    assert set(names) & set(_SECRETS) == set()
