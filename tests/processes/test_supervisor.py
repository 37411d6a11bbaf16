"""A supervisor on a system without process groups, tested by its commands alone."""

import subprocess
import sys

import pytest

from sampler_parity.harness.processes import supervisor


def test_on_windows_a_group_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    monkeypatch.setattr(sys, "platform", "win32")
    supervisor.kill(4711, "group")
    assert commands == [["taskkill", "/T", "/F", "/PID", "4711"]]
