"""No way to a false pass: forged, partial, old, renamed, replayed, reordered bundles and policies.

The ways were listed before the gate was changed for them. An attacker who makes every verdict and
every digest again is not among them: docs/ci-and-gate.md states what he could do, and what a
signature adds. Exchanged programs: tests/run/.
"""

import shutil
from datetime import date
from pathlib import Path
from unittest import mock

import pytest

from tests.attack.passes import policies, records, runs
from tests.attack.passes.forgery import POLICY, Forgery
from tests.support.command_line import Done, cli
from tests.support.two_programs import digest_of, make_bundles

WAYS = dict(
    [
        *records.edits(),
        *records.traces_left(),
        *records.incomplete(),
        *records.footers(),
        *records.frames(),
        *runs.of_info(),
        *runs.replayed(),
        *policies.of_policies(),
        *policies.baselines(),
    ]
)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the bundles `wrong` and `right`, of a program each, called mine."""
    folder = tmp_path_factory.mktemp("passes")
    make_bundles(folder)
    return folder


def judged(bundles: Path, name: str, folder: Path) -> Done:
    """Forge a bundle by a way and return the outcome of the gate.

    The policy names the released file only for ways that do not change the run of that file: the
    digest alone would refuse all others.
    """
    shutil.copytree(bundles / "wrong", folder)
    released = digest_of(bundles / "wrong.py")
    line = f'sha256 = ["{released}"]\n' if name.startswith("replayed") else ""
    forgery = Forgery(folder, bundles / "right", POLICY.format(released=line))
    WAYS[name](forgery)
    policy = folder.with_suffix(".toml")
    policy.write_text(forgery.policy, encoding="utf-8")
    baseline = ["--baseline", str(forgery.baseline)] if forgery.baseline else []
    today = date.fromisoformat(forgery.today) if forgery.today else None
    with mock.patch("sampler_parity.harness.cli.gate.today", return_value=today or date.today()):
        return cli("gate", folder, "--policy", policy, *baseline)


# One way in twelve in `make test`, all of them in `make nightly`.
SOME = [
    name if i % 12 == 0 else pytest.param(name, marks=pytest.mark.nightly)
    for i, name in enumerate(WAYS)
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_no_way_to_a_false_pass_succeeds(name: str, bundles: Path, tmp_path: Path) -> None:
    done = judged(bundles, name, tmp_path / "forged")
    assert done.returncode in (1, 2), done.stdout[-500:]
    assert "defect of sampler-parity" not in done.stdout + done.stderr


@pytest.mark.slow
def test_bundle_of_the_right_sampler_passes_by_the_same_policy(
    bundles: Path, tmp_path: Path
) -> None:
    released = digest_of(bundles / "right.py")
    policy = tmp_path / "gate.toml"
    policy.write_text(POLICY.format(released=f'sha256 = ["{released}"]\n'), encoding="utf-8")
    assert cli("gate", bundles / "right", "--policy", policy).returncode == 0
