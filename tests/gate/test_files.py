"""harness/gate/gate.py: the files of a bundle's backends, read again."""

from pathlib import Path

from sampler_parity.harness.backends.artifact import info_of
from sampler_parity.harness.bundle.info import digest_of
from sampler_parity.harness.gate.gate import notes_of_files, verify_files
from tests.support.gate_bundles import both, finished
from tests.support.report_bundles import run_info


def test_changed_file_fails_and_a_missing_one_is_not_judged(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths:
        path.write_text("x")
    files = [info_of(path) for path in paths]
    info = run_info("mine", "llama.cpp")
    made = {"files": files, "digest": digest_of(files)}
    backends = {name: b.model_copy(update=made) for name, b in info.backends.items()}
    info = info.model_copy(update={"backends": backends})
    bundle = finished(tmp_path / "bundle", [both("a")], info)
    assert (verify_files(bundle).state, verify_files(bundle).met) == ("met", 6)
    assert notes_of_files(bundle) == []

    paths[0].unlink()
    assert verify_files(bundle).state == "unjudged"
    paths[1].write_text("y")
    rule = verify_files(bundle)
    assert (rule.state, rule.judged, rule.met) == ("failed", 6, 2)
    assert [found.subject for found in rule.findings] == [
        f"{path} of {name}" for name in ("mine", "llama.cpp") for path in paths[:2]
    ]


def test_bundle_of_an_older_version_is_not_judged(tmp_path: Path) -> None:
    bundle = finished(tmp_path / "bundle", [both("a")])
    assert verify_files(bundle).state == "unjudged"
    assert notes_of_files(bundle) == ["the bundle does not state the files of mine, llama.cpp"]
