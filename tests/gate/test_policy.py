"""harness/gate/policy.py: the contents of a gate.toml, and how a wrong one is refused."""

from pathlib import Path

import pytest

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.gate.policy import ParityRule, Policy, read_policy

GOOD = Path(__file__).with_name("good_policy.toml").read_text(encoding="utf-8")


def read(folder: Path, text: str) -> Policy:
    path = folder / "gate.toml"
    path.write_text(text)
    return read_policy(path).policy


def test_policy_reads_rules_in_the_order_of_the_file(tmp_path: Path) -> None:
    policy = read(tmp_path, GOOD)
    assert [rule.name for rule in policy.rules("parity")] == ["parity.mine.typical_p", "parity"]
    assert policy.rules("speed")[0].max_ratio == 1.05
    assert policy.allow[0].expires.year == 2027


def test_default_policy_asks_of_every_case_what_its_suite_requires() -> None:
    file = read_policy(None)
    assert file.path == "the default policy"
    assert [(rule.name, rule.verdicts, rule.at_least) for rule in file.policy.rules("parity")] == [
        ("parity", [], 1)
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("suites =", "suits ="), "suits: Extra inputs are not permitted - remove it"),
        (("sampler =", "samplr ="), "parity[1].samplr: Extra inputs are not permitted - remove it"),
        (("1.05", '"1.05"'), "speed[1].max_ratio: Input should be a valid number"),
        (("1.05", "0"), "speed[1].max_ratio: Input should be greater than 0"),
        (("0.99", "1.5"), "speed[1].confidence: Input should be less than 1"),
        (("max_ratio = 1.05", ""), "speed[1].max_ratio: Field required - add it"),
        (('"reordered"]\n\n', '"fine"]\n\n'), "parity[1].verdicts[2]: Input should be 'identical'"),
        (('baseline = "llama.cpp"', ""), "speed[1]: needs either baseline"),
        (("expires = 2027-01-31", ""), "allow[1].expires: Field required - add it"),
        (("2027-01-31", '"soon"'), "allow[1].expires: Input should be a valid date"),
        (("2027-01-31", "2027-02-31"), "not TOML: "),
        (('reason = "another', 'reason = " "\nx = "another'), "allow[1].reason: String should"),
        (('case = "top_p/ties*"', ""), "allow[1]: needs case or finding"),
        (("https://example.org/issues/7", ""), "allow[1].issue: String should have at least 1"),
        (("schema_version = 1", "schema_version = 2"), "schema_version: Input should be 1"),
        (("schema_version = 1", ""), "schema_version: Field required - add it"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_policy_is_one_line_with_file_and_place(
    tmp_path: Path, change: tuple[str, str], expected: str
) -> None:
    assert change[0] in GOOD
    with pytest.raises(InputError) as refused:
        read(tmp_path, GOOD.replace(*change, 1))
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path / 'gate.toml'}: {expected}")


def test_policy_without_a_rule_is_refused_because_nothing_could_fail(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no rule: nothing could fail"):
        read(tmp_path, 'schema_version = 1\nsuites = ["parity/*"]\n')


def test_missing_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        read_policy(tmp_path / "none.toml")


def test_a_backend_is_named_as_it_is_printed_and_none_loses_its_build() -> None:
    rule = ParityRule()
    assert rule.fits(("mine [fast]", "mine [fast]"), ("llama.cpp@b1", "llama.cpp@*"))
    assert not rule.fits(("llama.cpp@b1", "llama.cpp"))
