"""harness/suite/ids.py and shipped.py: an id that one command prints can be pasted into another."""

from pathlib import Path

import pytest

from sampler_parity.harness.suite.ids import (
    fits,
    id_fits,
    is_shipped,
    may_be_of,
    names_of,
    shipped,
    suites_folder,
    suites_of,
    suites_of_cases,
)


@pytest.mark.parametrize("name", ["", "a[b", "[!", "x*?", "a\nb", "[z-a]"])
def test_a_name_fits_itself_whatever_it_holds(name: str) -> None:
    assert fits(name, name)
    assert fits(name, "*")


@pytest.mark.parametrize(
    ("id", "pattern", "fitting"),
    [
        ("top_p/a", "top_p/*", True),
        ("top_p/a", "top_p/?", True),
        ("top_p/a", "top_k/*", False),
        ("top_p/a", "a", False),
        ("timing/off-top_k/V4096", "off-top_k/*", True),
        ("timing/off-top_k/V4096", "timing/off-top_k/V4096", True),
        ("skip_ratio/actions/actions-small@llama.cpp", "skip_ratio/actions/*-small", True),
        ("skip_ratio/actions/actions-small@llama.cpp", "*@null", False),
    ],
)
def test_a_pattern_is_a_shell_s(id: str, pattern: str, fitting: bool) -> None:
    assert id_fits(id, pattern) == fitting


def test_the_first_part_of_an_id_names_its_suites() -> None:
    assert suites_of("top_p/x") == ["parity/top_p"]
    assert suites_of("tsampler/x") == ["draws/tsampler"]
    assert "timing/disabled" in suites_of("timing/off-top_k/V4096")
    assert {"parity/top_p", "parity/top_k"} <= {*suites_of("top_?/x")}
    assert suites_of("nothing/x") == []
    assert "parity/infill" in suites_of("infil*")


def test_a_word_is_looked_for_among_timed_chains_alone() -> None:
    """All others have a name in two parts: to make 100,000 cases for a typing error takes long."""
    suites = suites_of("infill")
    assert suites
    assert all(suite.startswith("timing/") for suite in suites)
    for ids in ("timing/infill", "parity/top_p/ties", "skip_ratio/a/b@llama.cpp"):
        assert all("/" in name for name in names_of(ids)) == (ids != "timing/infill")


@pytest.mark.parametrize(
    ("patterns", "suites"),
    [
        ([], []),
        (["coupled/softmax-V32", "top_p/*"], ["distribution/coupled", "parity/top_p"]),
        (["top_p/x", "mine/x"], []),
        (["x"], []),
        (["*/x"], []),
    ],
)
def test_a_case_is_looked_for_in_its_own_suite_alone(
    patterns: list[str], suites: list[str]
) -> None:
    assert suites_of_cases(patterns) == suites


@pytest.mark.parametrize(
    ("patterns", "meant"),
    [
        ([], True),
        (["top_p/x"], True),
        (["top_k/x"], False),
        (["top_k/x", "top_p/*"], True),
        (["*"], True),
        (["top*ties"], True),
        (["to*p/x"], True),
        (["to*/x/y"], True),
    ],
)
def test_a_suite_is_expanded_where_a_pattern_may_be_about_it(
    patterns: list[str], meant: bool
) -> None:
    assert may_be_of("top_p", patterns) == meant


def test_a_suite_of_the_package_is_known_by_its_path_and_no_other_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = shipped().values()
    monkeypatch.chdir(tmp_path)
    assert all(map(is_shipped, every))
    first, of_engine = suites_folder() / "parity" / "top_p.toml", [*every][-1]
    (tmp_path / "link.toml").symlink_to(first)
    copy = tmp_path / "suites" / "parity" / "top_p.toml"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(first.read_bytes())
    others = [copy, first.parent, first.with_name("none.toml"), first.parents[1] / "__init__.py"]
    others += [of_engine.parents[3] / "engine.toml", Path("/x.toml"), Path("/"), Path("top_p.toml")]
    assert is_shipped(tmp_path / "link.toml")
    assert not any(map(is_shipped, others))
